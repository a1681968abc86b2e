import { type DatasetOrder, datasetOrders, type TableOrder, tableOrders } from '../../contract/table-names.ts'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import type { TableChange } from '../../tables/change-table.ts'
import { type Page, readPage } from '../middleware/page.ts'
import { type Parameters, withoutEmpty } from '../middleware/parameters.ts'

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

/** The members `privacy` and `name` of the body. Clients send all that they know of a table: null is no wish. */
export function readTableChange(body: unknown): TableChange {
  if (!isJsonObject(body)) throw errors.badRequest('The body must be an object with privacy or name')
  const { privacy, name } = withoutEmpty(body)
  return { isPublic: isPublic(privacy ?? undefined), name: newName(name ?? undefined) }
}

function isPublic(privacy: unknown): boolean | undefined {
  if (privacy === undefined) return undefined
  if (privacy === 'PUBLIC' || privacy === 'LINK') return true
  if (privacy === 'PRIVATE') return false
  throw errors.badRequest("The member privacy must be 'PUBLIC', 'LINK' or 'PRIVATE'")
}

function newName(name: unknown): string | undefined {
  if (name === undefined) return undefined
  if (typeof name === 'string' && name.trim() !== '' && name.length <= 255) return name
  throw errors.badRequest('The member name must be a text of 1 to 255 characters')
}
