import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readForCaller, recordShownKeys } from '../../keys/caller.ts'
import { createKey } from '../../keys/create-key.ts'
import { findKey } from '../../keys/reading/find-key.ts'
import { listKeys } from '../../keys/reading/list-keys.ts'
import { updateKey } from '../../keys/update-key.ts'
import { keysCaller } from '../middleware/authenticate.ts'
import { clientAddress } from '../middleware/credential/client-address.ts'
import { forbidStoring } from '../middleware/guard-answers.ts'
import { refuseRepeated } from '../middleware/idempotency-key.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { addressedAccount } from './addressed-account.ts'
import { fullKeyDocument } from './document.ts'
import { changeFullSchema, createFullSchema, listFullSchema, readFullSchema } from './full-schemas.ts'
import { readFullKey, readKeyChanges, readKeyName, readListing } from './request.ts'

/** API keys with description, expiry and last use, for holders of a master key. */
export async function fullKeysRoutes(app: FastifyInstance, services: Services): Promise<void> {
  forbidStoring(app)
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  const { installation, keysMutex } = services
  const acting = async (request: FastifyRequest) => {
    const caller = await keysCaller(services, request)
    const account = await addressedAccount(services, request, caller)
    return { account, context: { ...installation, caller, address: clientAddress(request) } }
  }

  app.get('/keys', { ...common, schema: listFullSchema }, async (request) => {
    const { account, context } = await acting(request)
    const { total, keys } = await listKeys(context, account, readListing(request.query as Parameters))
    await recordShownKeys(context, account, keys)
    return { keys: keys.map((key) => fullKeyDocument(key, account.username)), total }
  })

  app.post('/keys', { ...common, schema: createFullSchema }, async (request, reply) => {
    const { account, context } = await acting(request)
    const wanted = { ...readFullKey(request.body), defaultQuota: services.config.apiKeyQuota }
    await refuseRepeated(services, request, context.caller)
    const key = await keysMutex(account.userId, () => createKey(context, account, wanted))
    return reply.code(201).send(fullKeyDocument(key, account.username))
  })

  app.get('/keys/:key', { ...common, schema: readFullSchema }, async (request) => {
    const { account, context } = await acting(request)
    const key = await readForCaller(context, findKey(installation, account, readKeyName(request)))
    await recordShownKeys(context, account, [key])
    return fullKeyDocument(key, account.username)
  })

  app.patch('/keys/:key', { ...common, schema: changeFullSchema }, async (request) => {
    const { account, context } = await acting(request)
    const changes = readKeyChanges(request.body)
    const name = readKeyName(request)
    const key = await keysMutex(account.userId, () => updateKey(context, account, name, changes))
    await recordShownKeys(context, account, [key])
    return fullKeyDocument(key, account.username)
  })
}

const common = { config: { rateGroup: 'keys' } } as const
