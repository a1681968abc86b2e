import type { FastifyRequest } from 'fastify'
import type { Account, Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { KnownMap } from '../../maps/maps.ts'
import { identifyCaller, mapsCaller } from '../middleware/authenticate.ts'
import type { Services } from '../services.ts'
import { mapIdIn, viewerTokens } from './request.ts'

/** The map of an address, and as whom it is drawn. */
export async function mapOf(
  services: Services,
  request: FastifyRequest,
): Promise<Readonly<{ principal: Principal; map: KnownMap }>> {
  const id = mapIdIn(request)
  if (id.includes('@'))
    return services.namedMaps.find(await viewedAccount(services, request), id, viewerTokens(request))
  const principal = await mapsCaller(services, request)
  return { principal, map: await services.maps.find(principal.account, id) }
}

/** The account of the path. No key is needed; one that is sent must be valid. */
export async function viewedAccount(services: Services, request: FastifyRequest): Promise<Account> {
  const identification = await identifyCaller(services, request)
  switch (identification.outcome) {
    case 'wrong-credential':
      throw errors.unauthorized()
    case 'wrong-username':
      throw errors.apiForbidden('Forbidden')
    case 'anonymous':
      return identification.account
    case 'known':
      return identification.principal.account
  }
}
