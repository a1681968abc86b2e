import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import type { Identification } from '../../auth/identify.ts'
import { errors } from '../../errors.ts'
import { listTables } from '../../tables/list-tables.ts'
import { shareTable, unshareTable } from '../../tables/share-table.ts'
import { identifyCaller, sqlCaller } from '../frame/authenticate.ts'
import { baseUrlOf } from '../frame/base-url.ts'
import { readPage } from '../frame/read-page.ts'
import type { Services } from '../services.ts'
import { datasetDocument, pageLinks, tableDocument } from './document.ts'
import { datasetsSchema, privacySchema, tableSchema, tablesSchema } from './schemas.ts'

/** What clients of the platform ask for besides SQL: an account's tables, and which of them are public. */
export async function datasetsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config, databases } = services
  // The schemas describe; what is wrong is told in the words of this API.
  app.setValidatorCompiler(() => () => true)

  app.get<Listing>('/api/v1/viz', { schema: tablesSchema }, async (request) => {
    const principal = await sqlCaller(services, request)
    const base = `${baseUrlOf(request, config)}/user/${principal.account.username}`
    const page = readPage(request.query, {
      orders: ['name', 'updated_at'],
      direction: 'desc',
      order: 'updated_at',
    })
    // Other visualizations than tables do not exist here.
    const hasTables = ['table', undefined].includes(request.query.type as string | undefined)
    const { total, tables } = hasTables ? await listTables(databases, principal, page) : noTables
    return {
      visualizations: tables.map((table) => tableDocument(table, principal.account, base)),
      total_entries: total,
      total_user_entries: total,
      total_likes: 0,
      total_shared: 0,
    }
  })

  app.get<OneTable>('/api/v1/viz/:table', { schema: tableSchema }, async (request) => {
    const principal = await sqlCaller(services, request)
    return findTable(principal, request)
  })

  app.put<OneTable>('/api/v1/viz/:table', { schema: privacySchema }, async (request) => {
    const principal = await sqlCaller(services, request)
    if (principal.key.type !== 'master') throw errors.permissionDenied()
    const change = isPublicIn(request.body) ? shareTable : unshareTable
    await change(databases, principal.account, request.params.table)
    return findTable(principal, request)
  })

  app.get<Listing>('/api/v4/datasets', { schema: datasetsSchema }, async (request) => {
    const principal = readerOfMetadata(await identifyCaller(services, request))
    const page = readPage(request.query, { orders: ['name'], direction: 'asc', order: 'name' })
    const { total, tables } = await listTables(databases, principal, page)
    const here = `${baseUrlOf(request, config)}${request.url.split('?', 1)[0]}`
    const links = pageLinks(here, request.query, page, total)
    return { total, count: tables.length, result: tables.map(datasetDocument), _links: links }
  })

  const findTable = async (principal: Principal, request: FastifyRequest<OneTable>) => {
    const { table: name } = request.params
    const { tables } = await listTables(databases, principal, { ...onlyOne, name })
    if (!tables[0]) throw errors.notFound(`Table '${name}'`)
    const { account } = principal
    return tableDocument(tables[0], account, `${baseUrlOf(request, config)}/user/${account.username}`)
  }
}

type Query = Readonly<Record<string, unknown>>
type Listing = { Querystring: Query }
type OneTable = { Params: { table: string } }

const noTables = { total: 0, tables: [] }
const onlyOne = { orderBy: 'name', direction: 'asc', limit: 1, offset: 0 } as const

/** The master key, or one that was granted `table_metadata`. */
function readerOfMetadata(identification: Identification): Principal {
  if (identification.outcome === 'wrong-credential') throw errors.unauthorized()
  if (identification.outcome !== 'known' || !identification.principal.key.hasTableMetadata) {
    throw errors.permissionDenied()
  }
  return identification.principal
}

function isPublicIn(body: unknown): boolean {
  const { privacy } = (body ?? {}) as { privacy?: unknown }
  if (privacy === 'PUBLIC' || privacy === 'LINK') return true
  if (privacy === 'PRIVATE') return false
  throw errors.badRequest("The member privacy must be 'PUBLIC', 'LINK' or 'PRIVATE'")
}
