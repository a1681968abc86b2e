import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { loadGrammar } from '../../sql/grammar.ts'
import { sqlCaller } from '../middleware/authenticate.ts'
import { refuseRepeated } from '../middleware/idempotency-key.ts'
import { replicaReader } from '../middleware/read-from.ts'
import type { Services } from '../services.ts'
import { readFields } from './multipart.ts'
import { readQuery, refuseBrokenParams } from './request.ts'
import { queryByGetSchema, queryByPostSchema } from './schemas.ts'
import { sendQuery } from './send-query.ts'

/** The SQL endpoint: one request's SQL, answered at once. */
export async function queryRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { queryMaxBodyBytes: maxBytes } = services.config
  await loadGrammar()
  // The schemas only describe; readQuery checks, in this API's own words.
  app.setValidatorCompiler(() => () => true)

  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const principal = await sqlCaller(services, request)
    refuseBrokenParams(request)
    const query = readQuery(request)
    const reader = replicaReader(reply, principal)
    if (request.headers['idempotency-key'] !== undefined) await refuseRepeated(services, request, principal)
    return sendQuery(services, principal, query, reply, reader)
  }
  app.get('/api/v2/sql', { ...common, exposeHeadRoute: false, schema: queryByGetSchema }, handler)
  // In a scope of its own: the multipart hooks would slow down every GET as well.
  await app.register(async (scope) => {
    await scope.register(multipart, { throwFileSizeLimit: false })
    // Early, because the fields may contain the credential.
    scope.addHook('preValidation', async (request) => {
      if (request.isMultipart()) request.body = await readFields(request, { maxBytes, ...common.config })
    })
    scope.post('/api/v2/sql', { ...common, bodyLimit: maxBytes, schema: queryByPostSchema }, handler)
  })
}

const common = { config: { rateGroup: 'sql', memberAsText: 'params', longMember: 'q' } } as const
