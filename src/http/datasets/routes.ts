import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../auth/account.ts'
import type { Identification } from '../../auth/identify.ts'
import { errors } from '../../errors.ts'
import { tellReplicas } from '../../hosts/replicas/fence-replicas.ts'
import { tableNameOf } from '../../imports/files/names.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { changeTable, dropTable } from '../../tables/change-table.ts'
import { geometryTypes } from '../../tables/geometry-types.ts'
import { listTables, type TableInfo } from '../../tables/list-tables.ts'
import { isShared } from '../../tables/share-table.ts'
import { accountUrlOf, addressOf } from '../middleware/address.ts'
import { identifyCaller, sqlCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { compressDocuments } from '../middleware/download/compress-documents.ts'
import { pageLinks } from '../middleware/page.ts'
import type { WithQuery } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { datasetDocument, detailsDocument, tableDocument, tablesDocument } from './document.ts'
import { readDatasetsPage, readTableChange, readTablesPage } from './request.ts'
import {
  changeTableSchema,
  datasetsSchema,
  deleteTableSchema,
  detailsSchema,
  tableSchema,
  tablesSchema,
} from './schemas.ts'

/** The tables of the account in the path, and which of them are public. */
export async function datasetsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config } = services
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  compressDocuments(app)

  app.get<WithQuery>('/api/v1/viz', { ...common, schema: tablesSchema }, async (request, reply) => {
    const principal = await sqlCaller(services, request)
    const page = readTablesPage(request.query)
    const { total, tables } = page ? await listTables(services, principal, page, clientGone(reply)) : noTables
    const { account } = principal
    return tablesDocument(tables, total, account, accountUrlOf(request, config, account))
  })

  app.get<OneTable>('/api/v1/viz/:table', { ...common, schema: tableSchema }, async (request, reply) =>
    describeTable(services, await sqlCaller(services, request), request, reply),
  )

  app.put<OneTable>(
    '/api/v1/viz/:table',
    { ...common, schema: changeTableSchema },
    async (request, reply) => {
      const principal = await changingCaller(services, request)
      const { table } = request.params
      const wanted = readTableChange(request.body)
      const name = wanted.name === undefined || wanted.name === table ? table : tableNameOf(wanted.name)
      const { databases } = services
      const isHidden = wanted.isPublic === false && (await isShared(databases, principal.account, table))
      await changeTable(services, principal, table, { ...wanted, name }, clientGone(reply))
      // Every process loads its accounts anew: only if there is something to tell.
      if (isHidden) await tellReplicas(services.databases, principal.account, services.log)
      return describeTable(services, principal, request, reply, name)
    },
  )

  app.delete<OneTable>(
    '/api/v1/viz/:table',
    { ...common, schema: deleteTableSchema },
    async (request, reply) => {
      const principal = await changingCaller(services, request)
      await dropTable(services, principal, request.params.table, clientGone(reply))
      return reply.code(204).send()
    },
  )

  app.get<OneTable>('/api/v1/tables/:table', { ...common, schema: detailsSchema }, async (request, reply) => {
    const principal = await sqlCaller(services, request)
    const gone = clientGone(reply)
    const table = await findTable(services, principal, request.params.table, gone)
    return detailsDocument(table, principal.account, await geometryTypes(services, principal, table, gone))
  })

  app.get<WithQuery>('/api/v4/datasets', { ...common, schema: datasetsSchema }, async (request, reply) => {
    const principal = requireMetadata(await identifyCaller(services, request))
    const page = readDatasetsPage(request.query)
    const { total, tables } = await listTables(services, principal, page, clientGone(reply))
    const _links = pageLinks(addressOf(request, config), request.query, page, total)
    return { total, count: tables.length, result: tables.map(datasetDocument), _links }
  })
}

const common = { config: { rateGroup: 'tables' } } as const

type OneTable = { Params: { table: string } }

const noTables = { total: 0, tables: [] }

async function describeTable(
  services: Services,
  principal: Principal,
  request: FastifyRequest<OneTable>,
  reply: FastifyReply,
  name = request.params.table,
) {
  const table = await findTable(services, principal, name, clientGone(reply))
  return tableDocument(table, principal.account, accountUrlOf(request, services.config, principal.account))
}

async function findTable(
  services: Services,
  principal: Principal,
  name: string,
  gone: AbortLike,
): Promise<TableInfo> {
  const { tables } = await listTables(services, principal, { ...onlyOne, name }, gone)
  if (!tables[0]) throw errors.notFound(`Table '${name}'`)
  return tables[0]
}

/** Without a key of one's own nothing can be changed, whatever strangers were granted. */
async function changingCaller(services: Services, request: FastifyRequest): Promise<Principal> {
  const principal = await sqlCaller(services, request)
  if (principal.key.type === 'default') throw errors.permissionDenied()
  return principal
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
