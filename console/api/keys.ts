import type {
  FullKeyDocument,
  FullKeyList,
  Grant,
  InvitationDocument,
  KeyChanges,
  KeyDocument,
  KeyList,
  OwnActivity,
} from '../../src/contract/documents.ts'
import { maxPerPage } from '../../src/contract/limits.ts'
import { type ApiCall, requestJson, requestText } from './request.ts'

/** Without `member`: the keys of the session's user. Owners and admins of an organization can name a member. */
export type KeysOf = Readonly<{ member?: string | undefined; signal?: AbortSignal }>

export async function listAllKeys(of: KeysOf = {}): Promise<readonly KeyDocument[]> {
  const found: KeyDocument[] = []
  for (let page = 1; ; page++) {
    const query = { per_page: maxPerPage, page, order: 'name' }
    const { result, total } = await requestJson<KeyList>('listKeys', callFor(of, { query }))
    found.push(...result)
    if (result.length < maxPerPage || found.length >= total) return found
  }
}

/** With description, expiry, last use and invitation. */
export async function listFullKeys(of: KeysOf = {}): Promise<readonly FullKeyDocument[]> {
  const found: FullKeyDocument[] = []
  for (let page = 1; ; page++) {
    const query = { per_page: maxPerPage, page, order: 'name' }
    const { keys, total } = await requestJson<FullKeyList>('listKeysByV4', callFor(of, { query }))
    found.push(...keys)
    if (keys.length < maxPerPage || found.length >= total) return found
  }
}

export const readKey = (name: string, of: KeysOf = {}) =>
  requestJson<KeyDocument>('readKey', callFor(of, { parameters: { key: name } }))

/** With description, expiry and last use. */
export const readFullKey = (name: string, of: KeysOf = {}) =>
  requestJson<FullKeyDocument>('readKeyByV4', callFor(of, { parameters: { key: name } }))

export const changeKey = (name: string, json: KeyChanges, of: KeysOf = {}) =>
  requestJson<FullKeyDocument>('changeKey', callFor(of, { parameters: { key: name }, json }))

export const createKey = (key: Readonly<{ name: string; grants: readonly Grant[] }>, of: KeysOf = {}) =>
  requestJson<KeyDocument>('createKey', callFor(of, { json: key }))

export const regenerateToken = (name: string, of: KeysOf = {}) =>
  requestJson<KeyDocument>('regenerateToken', callFor(of, { parameters: { key: name } }))

export const deleteKey = (name: string, of: KeysOf = {}) =>
  requestJson<KeyDocument>('deleteKey', callFor(of, { parameters: { key: name } }))

/** A link that gives its receiver the key. */
export const inviteByKey = (name: string, of: KeysOf = {}) =>
  requestJson<InvitationDocument>('inviteByKey', callFor(of, { parameters: { key: name }, json: {} }))

export const withdrawInvitation = (name: string, of: KeysOf = {}) =>
  requestText('withdrawInvitation', callFor(of, { parameters: { key: name } }))

/** What runs now, with the key of each. */
export const readActivity = (of: KeysOf) => requestJson<OwnActivity>('readOwnActivity', callFor(of, {}))

/** Keys have times such as `2026-01-31 10:00:00 +0000`, which not every browser can parse. */
export const timeOfKey = (text: string) => new Date(text.replace(' ', 'T').replace(' +0000', 'Z'))

const callFor = ({ member, signal }: KeysOf, call: ApiCall): ApiCall => ({
  ...call,
  query: { ...call.query, target_user: member },
  signal,
})
