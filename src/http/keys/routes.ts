import type { FastifyInstance, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { readForCaller, recordShownKeys } from '../../keys/caller.ts'
import { createKey } from '../../keys/create-key.ts'
import { deleteKey } from '../../keys/delete-key.ts'
import { findKey } from '../../keys/reading/find-key.ts'
import { listKeys } from '../../keys/reading/list-keys.ts'
import { regenerateToken } from '../../keys/regenerate-token.ts'
import { addressOf } from '../middleware/address.ts'
import { keysCaller } from '../middleware/authenticate.ts'
import { clientAddress } from '../middleware/credential/client-address.ts'
import { respondWithKeyError } from '../middleware/error-response.ts'
import { forbidStoring } from '../middleware/guard-answers.ts'
import { refuseRepeated } from '../middleware/idempotency-key.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { addressedAccount } from './addressed-account.ts'
import { keyDocument, listDocument } from './document.ts'
import { readKeyName, readListing, readNewKey } from './request.ts'
import { createSchema, deleteSchema, listSchema, readSchema, regenerateSchema } from './schemas.ts'

/** API keys of the account in the path, for holders of a master key. */
export async function keysRoutes(app: FastifyInstance, services: Services): Promise<void> {
  app.setErrorHandler(respondWithKeyError)
  app.setNotFoundHandler(app.refuseUnknownRoute)
  forbidStoring(app)
  const { installation, keysMutex } = services
  const accountMeant = async (request: FastifyRequest) =>
    addressedAccount(services, request, await keysCaller(services, request))
  const actingIn = (request: FastifyRequest) => ({
    ...installation,
    address: clientAddress(request),
    ...(request.identification?.outcome === 'known' && { caller: request.identification.principal }),
  })

  app.get(list, { ...common, schema: listSchema }, async (request) => {
    const account = await accountMeant(request)
    const query = request.query as Parameters
    const listing = readListing(query)
    const { total, keys } = await listKeys(actingIn(request), account, listing)
    await recordShownKeys(actingIn(request), account, keys)
    const address = addressOf(request, services.config)
    return listDocument({ keys, total, listing, username: account.username, address, query })
  })

  app.post(list, { ...common, schema: createSchema }, async (request, reply) => {
    const account = await accountMeant(request)
    const wanted = { ...readNewKey(request.body), defaultQuota: services.config.apiKeyQuota }
    await refuseRepeated(services, request, await keysCaller(services, request))
    const key = await keysMutex(account.userId, () => createKey(actingIn(request), account, wanted))
    return reply.code(201).send(keyDocument(key, account.username))
  })

  app.get(one, { ...common, schema: readSchema }, async (request) => {
    const account = await accountMeant(request)
    const key = await readForCaller(actingIn(request), findKey(installation, account, readKeyName(request)))
    await recordShownKeys(actingIn(request), account, [key])
    return keyDocument(key, account.username)
  })

  app.delete(one, { ...common, schema: deleteSchema }, async (request) => {
    const account = await accountMeant(request)
    const name = readKeyName(request)
    const key = await keysMutex(account.userId, () => deleteKey(actingIn(request), account, name))
    return keyDocument(key, account.username)
  })

  app.post(`${one}/token/regenerate`, { ...common, schema: regenerateSchema }, async (request) => {
    const account = await accountMeant(request)
    const name = readKeyName(request)
    const key = await keysMutex(account.userId, () => regenerateToken(actingIn(request), account, name))
    return keyDocument(key, account.username)
  })
}

const list = '/api_keys'
const one = `${list}/:key`

/** request.ts checks bodies and parameters, with the texts that clients know; the schemas only describe. */
const common = {
  config: { rateGroup: 'keys' },
  validatorCompiler: () => () => true,
  serializerCompiler: () => (document: unknown) => JSON.stringify(document),
} as const satisfies RouteShorthandOptions
