import type { FastifyRequest } from 'fastify'
import type { Account, Principal } from '../../auth/account.ts'
import { errors } from '../../errors.ts'
import type { CheckedMapConfig } from '../../maps/map-config.ts'
import type { OpenedMap } from '../../maps/maps.ts'
import type { ReaderOf } from '../../maps/named/named-layers.ts'
import { identifyCaller, mapsCaller } from '../middleware/authenticate.ts'
import type { Services } from '../services.ts'
import { mapIdIn, viewerTokens } from './request.ts'

/** The map of an address, and as whom it is drawn. */
export async function mapOf(
  services: Services,
  request: FastifyRequest,
): Promise<Readonly<{ principal: Principal; map: OpenedMap }>> {
  const id = mapIdIn(request)
  if (id.includes('@'))
    return services.namedMaps.find(await viewedAccount(services, request), id, viewerTokens(request))
  const principal = await mapsCaller(services, request)
  return { principal, map: await services.maps.open(principal, id, { tokens: viewerTokens(request) }) }
}

/** Which caches may keep an answer of a map: what one of its keys reads is not for shared caches. */
export function strictestReader({
  config,
  readerOf,
}: Readonly<{ config: CheckedMapConfig; readerOf: ReaderOf }>): Principal {
  const readers = config.layers.map(readerOf)
  return readers.find(({ key }) => key.type !== 'default') ?? readers[0] ?? readerOf({ template: null })
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
