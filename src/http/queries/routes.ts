import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { inQuery } from '../../saved-queries/saved-queries.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { accountUrlOf } from '../middleware/address.ts'
import { jobsCaller, sqlCaller } from '../middleware/authenticate.ts'
import { textOfBody } from '../middleware/body/body.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { sendQuery } from '../query/send-query.ts'
import type { Services } from '../services.ts'
import { tagsOf } from '../tiles/send-tile-json.ts'
import { openapiOfQueries, queryDocument } from './document.ts'
import { readRowsRequest } from './request.ts'
import {
  deleteQuerySchema,
  describeQueriesSchema,
  listQueriesSchema,
  readQuerySchema,
  runQueryByGetSchema,
  runQuerySchema,
  saveQuerySchema,
} from './schemas.ts'

/** Queries that callers run by name. The master key manages them and sees their SQL. */
export async function savedQueriesRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  manage(app, services)
  const describe = { ...common, schema: describeQueriesSchema }
  app.get('/api/v4/queries/openapi.json', describe, async (request) => {
    const principal = await sqlCaller(services, request)
    const url = accountUrlOf(request, services.config, principal.account)
    return openapiOfQueries(principal.account.username, url, await services.savedQueries.list(principal))
  })
  const byGet = { ...common, exposeHeadRoute: false, schema: runQueryByGetSchema }
  app.get<OneQuery>('/api/v4/queries/:query/rows', byGet, (request, reply) => run(services, request, reply))
  const byPost = { config: { ...common.config, keepsText: true }, schema: runQuerySchema }
  app.post<OneQuery>('/api/v4/queries/:query/rows', byPost, (request, reply) => run(services, request, reply))
}

type OneQuery = { Params: { query: string } }

const common = { config: { rateGroup: 'sql' } } as const

function manage(app: FastifyInstance, services: Services): void {
  const { savedQueries } = services
  app.get('/api/v4/queries', { ...common, schema: listQueriesSchema }, async (request) => {
    const queries = await savedQueries.list(await jobsCaller(services, request))
    return { queries: queries.map(queryDocument) }
  })
  const save = { config: { ...common.config, keepsText: true }, schema: saveQuerySchema }
  app.put<OneQuery>('/api/v4/queries/:query', save, async (request, reply) => {
    const principal = await jobsCaller(services, request)
    const { query: name } = request.params
    const { body } = request
    const sent = { body, text: isJsonObject(body) ? textOfBody(body) : undefined }
    const { query, isNew } = await savedQueries.save(principal, name, sent, clientGone(reply))
    return reply.code(isNew ? 201 : 200).send(queryDocument(query))
  })
  app.get<OneQuery>('/api/v4/queries/:query', { ...common, schema: readQuerySchema }, async (request) =>
    queryDocument(await savedQueries.read(await jobsCaller(services, request), request.params.query)),
  )
  const remove = { ...common, schema: deleteQuerySchema }
  app.delete<OneQuery>('/api/v4/queries/:query', remove, async (request, reply) => {
    await savedQueries.delete(await jobsCaller(services, request), request.params.query)
    return reply.code(204).send()
  })
}

async function run(
  services: Services,
  request: FastifyRequest<OneQuery>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { savedQueries } = services
  const principal = await sqlCaller(services, request)
  const saved = await savedQueries.open(principal, request.params.query)
  const { options, given } = readRowsRequest(request)
  const query = savedQueries.statement(saved, given, options)
  try {
    const tag =
      request.method === 'GET'
        ? await savedQueries.tag(principal, saved, query, clientGone(reply))
        : undefined
    if (tag !== undefined && tagsOf(request).includes(`"${tag}"`))
      return setTag(reply, principal, tag).code(304).send()
    if (tag !== undefined) setTag(reply, principal, tag)
    return await sendQuery(services, principal, query, reply)
  } catch (error) {
    for (const name of ['etag', 'cache-control', 'vary']) reply.removeHeader(name)
    throw inQuery(error, Object.keys(saved.params))
  }
}

/** Weak: a JSON answer also tells how long it took, and answers are compressed in several ways. */
function setTag(reply: FastifyReply, { key }: Principal, tag: string): FastifyReply {
  reply.header('cache-control', `${key.type === 'default' ? 'public' : 'private'}, no-cache`)
  return reply.header('vary', 'Authorization, Accept-Encoding').header('etag', `W/"${tag}"`)
}
