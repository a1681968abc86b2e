import type { Api } from '../contract/grants.ts'
import { defaultToken } from '../contract/key-names.ts'
import { type AppError, errors } from '../errors.ts'
import type { Principal } from './account.ts'
import type { Directory } from './directory.ts'
import type { Identification } from './identify.ts'

/** API-key endpoints: master keys only. */
export function requireMasterForKeys(identification: Identification): Principal {
  if (identification.outcome !== 'known') throw errors.unauthorized()
  if (identification.principal.key.type !== 'master') throw errors.notYourResource()
  return identification.principal
}

/** Job endpoints: master keys only; every refusal reads `permission denied`. */
export function requireMasterForJobs(identification: Identification): Principal {
  if (identification.outcome === 'wrong-credential') throw errors.wrongCredential()
  if (identification.outcome !== 'known' || identification.principal.key.type !== 'master') {
    throw errors.permissionDenied()
  }
  return identification.principal
}

/** SQL and copy endpoints: any key with the SQL API; without a key, the account's public key. */
export function requireSqlAccess(
  directory: Directory,
  identification: Identification,
): Principal | Promise<Principal> {
  return requireApi(directory, identification, 'sql', errors.permissionDenied, errors.apiForbidden)
}

/** Map endpoints: any key with the maps API; without a key, the account's public key. */
export function requireMapsAccess(
  directory: Directory,
  identification: Identification,
): Principal | Promise<Principal> {
  const forbidden = () => errors.apiForbidden('Forbidden')
  return requireApi(directory, identification, 'maps', forbidden, forbidden)
}

function requireApi(
  directory: Directory,
  identification: Identification,
  api: Api,
  wrongName: () => AppError,
  withoutApi: () => AppError,
): Principal | Promise<Principal> {
  switch (identification.outcome) {
    case 'wrong-credential':
      throw errors.unauthorized()
    case 'wrong-username':
      throw wrongName()
    case 'anonymous':
      return publicPrincipal(directory, identification)
    case 'known':
      if (!identification.principal.key.apis.includes(api)) throw withoutApi()
      return identification.principal
  }
}

async function publicPrincipal(
  directory: Directory,
  { account, epoch }: Extract<Identification, { outcome: 'anonymous' }>,
): Promise<Principal> {
  const key = await directory.findKey(account, defaultToken)
  if (!key) throw errors.unauthorized()
  return directory.principal({ account, key }, epoch)
}
