import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import { refuseSuspended } from '../../auth/standing.ts'
import type { ExportDocument, ExportLink } from '../../contract/documents.ts'
import { defaultDecimals } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import {
  deleteExport,
  type ExportRecord,
  insertExport,
  listExports,
  mostExports,
  returnDownload,
  takeDownload,
} from '../../exports/export-store.ts'
import { answerQuery } from '../../query/answer-query.ts'
import type { Query } from '../../query/query.ts'
import { loadGrammar } from '../../sql/grammar.ts'
import { accountUrlOf } from '../middleware/address.ts'
import { sqlCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { replicaReader } from '../middleware/read-from.ts'
import { sendQuery } from '../query/send-query.ts'
import type { Services } from '../services.ts'
import { readExport, readExportId, type WantedExport } from './request.ts'
import { createExportSchema, deleteExportSchema, downloadExportSchema, listExportsSchema } from './schemas.ts'

/** Links to the rows of a query, which work without a key. */
export async function exportsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  await loadGrammar()
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  app.post('/api/v4/exports', { ...common, schema: createExportSchema }, (request, reply) =>
    create(services, request, reply),
  )
  app.get('/api/v4/exports', { ...common, schema: listExportsSchema }, async (request) => {
    const principal = await holderOf(services, request)
    const found = await listExports(services.databases.control, principal.account, ownOnly(principal))
    return { exports: found.map(exportDocument) }
  })
  app.delete(
    '/api/v4/exports/:exportId',
    { ...common, schema: deleteExportSchema },
    async (request, reply) => {
      const principal = await holderOf(services, request)
      const { control } = services.databases
      const id = readExportId(request)
      if (!(await deleteExport(control, principal.account, ownOnly(principal), id)))
        throw errors.exportNotFound()
      return reply.code(204).send()
    },
  )
  const download = { ...common, exposeHeadRoute: false, schema: downloadExportSchema }
  app.get('/api/v4/exports/:exportId/:secret', download, (request, reply) => open(services, request, reply))
}

const common = { config: { rateGroup: 'sql' } } as const

/** Anyone can read public tables, so a link needs a key of its own. */
async function holderOf(services: Services, request: FastifyRequest): Promise<Principal> {
  const principal = await sqlCaller(services, request)
  if (principal.key.type === 'default') throw errors.permissionDenied()
  return principal
}

/** A key manages its own links, the master key all. */
const ownOnly = ({ key }: Principal) => (key.type === 'master' ? undefined : key.id)

async function create(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { config, databases, secrets } = services
  const principal = await holderOf(services, request)
  const wanted = readExport(request)
  await tryQuery(services, principal, wanted, reply)
  const secret = randomBytes(24).toString('base64url')
  const made = await insertExport(databases.control, principal, {
    ...wanted,
    secretHash: secrets.hashToken(secret),
  })
  if (!made) throw errors.badRequest(`A user has at most ${mostExports} links: withdraw some`)
  const url = `${accountUrlOf(request, config, principal.account)}/api/v4/exports/${made.id}/${secret}`
  const link: ExportLink = { id: made.id, url, expires_at: made.expires_at.toISOString() }
  return reply.code(201).header('cache-control', 'no-store').send(link)
}

/** Plans the query, so that one which the key may not run is refused now. */
async function tryQuery(
  { queries }: Services,
  principal: Principal,
  { query }: WantedExport,
  reply: FastifyReply,
): Promise<void> {
  const plan = { ...queryOf({ query, format: 'json', filename: undefined }), sql: `explain ${query}` }
  const refuse = () => {
    throw errors.badRequest('The plan of the query is too long')
  }
  await answerQuery(queries, principal, plan, { gone: clientGone(reply), open: refuse })
}

const queryOf = ({
  query,
  format,
  filename,
}: Pick<WantedExport, 'query' | 'format' | 'filename'>): Query => ({
  sql: query,
  params: undefined,
  format,
  paging: undefined,
  skippedFields: new Set(),
  decimals: defaultDecimals,
  filename,
  total: undefined,
})

/** Runs the query now, as the key that made the link. */
async function open(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { directory, databases, secrets } = services
  const { name, secret } = request.params as { name: string; secret: string }
  const id = readExportId(request)
  const { epoch } = directory
  const named = await directory.findAccount(name)
  if (named?.kind !== 'user') throw errors.exportNotFound()
  const { account } = named
  refuseSuspended(account)
  const found = await takeDownload(databases.control, account, id, secrets.hashToken(secret))
  if (!found) throw errors.exportNotFound()
  // The address is a secret, and the next download may give other rows.
  reply.header('cache-control', 'private, no-store').header('referrer-policy', 'no-referrer')
  try {
    const principal = directory.guest({ account, key: found.key }, epoch)
    return await sendQuery(services, principal, queryOf(found), reply, replicaReader(reply, principal))
  } catch (error) {
    await returnDownload(databases.control, id)
    throw error
  }
}

function exportDocument(record: ExportRecord): ExportDocument {
  const { id, query, format, filename, key, downloads, max_downloads } = record
  return {
    id,
    q: query,
    format,
    filename,
    key,
    downloads,
    max_downloads,
    created_at: record.created_at.toISOString(),
    expires_at: record.expires_at.toISOString(),
  }
}
