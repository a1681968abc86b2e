import type {
  FullKeyDocument,
  FullKeyList,
  Grant,
  KeyChanges,
  KeyDocument,
  KeyList,
  NewKey,
} from '../../contract/documents.ts'
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
    /** With description, expiry and last use. */
    listFull: (query: KeyListing & Target = {}) =>
      sendForJson<FullKeyList>(connection, 'listKeysByV4', { parameters: { name }, query }),
    createFull: (key: NewKey, query: Target = {}) =>
      sendForJson<FullKeyDocument>(connection, 'createKeyByV4', { parameters: { name }, query, json: key }),
    details: (key: string, query: Target = {}) =>
      sendForJson<FullKeyDocument>(connection, 'readKeyByV4', one(key, query)),
    /** Changes grants, description or expiry in place: the token stays. */
    change: (key: string, json: KeyChanges, query: Target = {}) =>
      sendForJson<FullKeyDocument>(connection, 'changeKey', { ...one(key, query), json }),
    regenerate: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'regenerateToken', one(key, query)),
  }
}
