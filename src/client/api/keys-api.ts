import type { Grant, KeyDocument, KeyList } from '../../contract/documents.ts'
import type { SortOrder } from '../../contract/formats.ts'
import type { KeyOrder } from '../../contract/key-names.ts'
import type { Connection } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

export type KeyListing = Readonly<{
  page?: number
  per_page?: number
  order?: KeyOrder
  order_direction?: SortOrder
  type?: string
}>
/** The organization member whose keys are meant. */
export type Target = Readonly<{ target_user?: string }>

export function keysOf(connection: Connection, name: string) {
  const one = (key: string, query: Target) => ({ parameters: { name, key }, query })
  return {
    list: (query: KeyListing & Target = {}) =>
      sendForJson<KeyList>(connection, 'listKeys', { parameters: { name }, query }),
    create: (key: Readonly<{ name: string; grants: readonly Grant[] }>, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'createKey', { parameters: { name }, query, json: key }),
    read: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'readKey', one(key, query)),
    delete: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'deleteKey', one(key, query)),
    regenerate: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'regenerateToken', one(key, query)),
  }
}
