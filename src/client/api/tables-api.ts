import type { DatasetList, TableDetails, TableDocument, TableList } from '../../contract/documents.ts'
import type { SortOrder } from '../../contract/formats.ts'
import type { DatasetOrder, Privacy, TableOrder } from '../../contract/table-names.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

type PageQuery = Readonly<{ page?: number; per_page?: number; order_direction?: SortOrder }>
export type TableListing = PageQuery & Readonly<{ order?: TableOrder }>
export type DatasetListing = PageQuery & Readonly<{ order?: DatasetOrder }>

export function tablesOf(connection: Connection, name: string) {
  const one = (table: string) => ({ parameters: { name, table } })
  return {
    /** One page, from 1. A key sees the tables that it has a right to. */
    list: (query: TableListing = {}) =>
      sendForJson<TableList>(connection, 'listTables', { parameters: { name }, query }),
    read: (table: string) => sendForJson<TableDocument>(connection, 'readTable', one(table)),
    setPrivacy: (table: string, privacy: Privacy) =>
      sendForJson<TableDocument>(connection, 'changePrivacy', { ...one(table), json: { privacy } }),
    rename: (table: string, newName: string) =>
      sendForJson<TableDocument>(connection, 'changePrivacy', { ...one(table), json: { name: newName } }),
    /** With an estimate of its rows, and the kinds of its geometries. */
    details: (table: string) => sendForJson<TableDetails>(connection, 'readTableDetails', one(table)),
    delete: async (table: string): Promise<void> => {
      await sendForText(connection, 'deleteTable', one(table))
    },
    /** Tables, views and materialized views: for the master key, or one with `table_metadata`. */
    datasets: (query: DatasetListing = {}) =>
      sendForJson<DatasetList>(connection, 'listDatasets', { parameters: { name }, query }),
  }
}
