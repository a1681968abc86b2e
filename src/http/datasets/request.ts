import { type DatasetOrder, datasetOrders, type TableOrder, tableOrders } from '../../contract/table-names.ts'
import { errors } from '../../errors.ts'
import { type Page, readPage } from '../middleware/page.ts'
import { isObject, type Parameters, withoutEmpty } from '../middleware/parameters.ts'

/** Which tables to list; null if the client asks for visualizations other than tables. */
export function readTablesPage(query: Parameters): Page<TableOrder> | null {
  const page = readPage(withoutEmpty(query), {
    orders: tableOrders,
    order: 'updated_at',
    direction: 'desc',
  })
  return query.type === undefined || query.type === 'table' ? page : null
}

export function readDatasetsPage(query: Parameters): Page<DatasetOrder> {
  return readPage(withoutEmpty(query), { orders: datasetOrders, order: 'name', direction: 'asc' })
}

/** The member `privacy` of the body: true if the table is to be public. */
export function readIsPublic(body: unknown): boolean {
  const privacy = isObject(body) ? body.privacy : undefined
  if (privacy === 'PUBLIC' || privacy === 'LINK') return true
  if (privacy === 'PRIVATE') return false
  throw errors.badRequest("The member privacy must be 'PUBLIC', 'LINK' or 'PRIVATE'")
}
