import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import type { Identification } from '../../auth/identify.ts'
import { errors } from '../../errors.ts'
import { catalogLimits } from '../../statements/configured-limits.ts'
import { listTables } from '../../tables/list-tables.ts'
import { shareTable, unshareTable } from '../../tables/share-table.ts'
import { accountUrlOf, addressOf } from '../middleware/address.ts'
import { identifyCaller, sqlCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { pageLinks } from '../middleware/page.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { datasetDocument, tableDocument, tablesDocument } from './document.ts'
import { readDatasetsPage, readIsPublic, readTablesPage } from './request.ts'
import { datasetsSchema, privacySchema, tableSchema, tablesSchema } from './schemas.ts'

/** The tables of the account in the path, and which of them are public. */
export async function datasetsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config, databases } = services
  const listing = listingOf(services)
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)

  app.get<Listing>('/api/v1/viz', { ...common, schema: tablesSchema }, async (request, reply) => {
    const principal = await sqlCaller(services, request)
    const page = readTablesPage(request.query)
    const { total, tables } = page ? await listTables(listing, principal, page, clientGone(reply)) : noTables
    const { account } = principal
    return tablesDocument(tables, total, account, accountUrlOf(request, config, account))
  })

  app.get<OneTable>('/api/v1/viz/:table', { ...common, schema: tableSchema }, async (request, reply) =>
    describeTable(services, await sqlCaller(services, request), request, reply),
  )

  app.put<OneTable>('/api/v1/viz/:table', { ...common, schema: privacySchema }, async (request, reply) => {
    const principal = await sqlCaller(services, request)
    if (principal.key.type !== 'master') throw errors.permissionDenied()
    const change = readIsPublic(request.body) ? shareTable : unshareTable
    await change(databases, principal.account, request.params.table)
    return describeTable(services, principal, request, reply)
  })

  app.get<Listing>('/api/v4/datasets', { ...common, schema: datasetsSchema }, async (request, reply) => {
    const principal = requireMetadata(await identifyCaller(services, request))
    const page = readDatasetsPage(request.query)
    const { total, tables } = await listTables(listing, principal, page, clientGone(reply))
    const _links = pageLinks(addressOf(request, config), request.query, page, total)
    return { total, count: tables.length, result: tables.map(datasetDocument), _links }
  })
}

const common = { config: { rateGroup: 'tables' } } as const

type Listing = { Querystring: Parameters }
type OneTable = { Params: { table: string } }

const noTables = { total: 0, tables: [] }

const listingOf = ({ config, databases }: Services) => ({ databases, limits: catalogLimits(config) })

async function describeTable(
  services: Services,
  principal: Principal,
  request: FastifyRequest<OneTable>,
  reply: FastifyReply,
) {
  const { config } = services
  const name = request.params.table
  const filter = { ...onlyOne, name }
  const { tables } = await listTables(listingOf(services), principal, filter, clientGone(reply))
  if (!tables[0]) throw errors.notFound(`Table '${name}'`)
  return tableDocument(tables[0], principal.account, accountUrlOf(request, config, principal.account))
}

const onlyOne = { page: 1, perPage: 1, order: 'name', direction: 'asc' } as const

/** The master key, or one that was granted `table_metadata`. */
function requireMetadata(identification: Identification): Principal {
  if (identification.outcome === 'wrong-credential') throw errors.unauthorized()
  if (identification.outcome !== 'known' || !identification.principal.key.hasTableMetadata) {
    throw errors.permissionDenied()
  }
  return identification.principal
}
