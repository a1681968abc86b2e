import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import type { Identification } from '../../auth/identify.ts'
import { errors } from '../../errors.ts'
import { checkRights } from '../../imports/check-rights.ts'
import { identifyCaller } from '../middleware/authenticate.ts'
import type { Services } from '../services.ts'

/** The key that makes imports: the master key, or one that may create tables by SQL. */
export async function importCaller(services: Services, request: FastifyRequest): Promise<Principal> {
  request.identification = null
  const principal = known(await identifyCaller(services, request))
  await checkRights(services.databases, principal)
  return principal
}

function known(identification: Identification): Principal {
  if (identification.outcome === 'wrong-username') throw errors.permissionDenied()
  if (identification.outcome !== 'known') throw errors.unauthorized()
  return identification.principal
}

/** Any key with the SQL API, but not the public one. */
export async function keyHolder(services: Services, request: FastifyRequest): Promise<Principal> {
  const principal = known(await identifyCaller(services, request))
  if (principal.key.type === 'default') throw errors.permissionDenied()
  if (!principal.key.apis.includes('sql')) throw errors.apiForbidden()
  return principal
}
