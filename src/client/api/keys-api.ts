import type {
  FullKeyDocument,
  FullKeyList,
  Grant,
  InvitationDocument,
  KeyChanges,
  KeyDocument,
  KeyList,
  NewKey,
} from '../../contract/documents.ts'
import type { SortOrder } from '../../contract/formats.ts'
import type { KeyOrder } from '../../contract/key-names.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

export type KeyListing = Readonly<{
  page?: number
  per_page?: number
  order?: KeyOrder
  order_direction?: SortOrder
  type?: string
}>
/** The organization member who is meant; for its owner and admins. */
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
    /** A link that gives its receiver the key, with a new token. */
    invite: (key: string, json: Readonly<{ expires_at?: string }> = {}, query: Target = {}) =>
      sendForJson<InvitationDocument>(connection, 'inviteByKey', { ...one(key, query), json }),
    withdrawInvitation: async (key: string, query: Target = {}): Promise<void> => {
      await sendForText(connection, 'withdrawInvitation', one(key, query))
    },
    /** Needs no token of its own: any will do. */
    acceptInvitation: (invitation: string) =>
      sendForJson<FullKeyDocument>(connection, 'acceptInvitation', {
        parameters: { name },
        json: { invitation },
      }),
    regenerate: (key: string, query: Target = {}) =>
      sendForJson<KeyDocument>(connection, 'regenerateToken', one(key, query)),
  }
}
