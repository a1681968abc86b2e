import { onlyOnce } from '../../src/client/http/only-once.ts'
import type { Grant, KeyDocument, KeyList } from '../../src/contract/documents.ts'
import { maxPerPage } from '../../src/contract/limits.ts'
import { type Call, requestJson } from './request.ts'

/** Whose keys: the session's own, or, for owners and admins of an organization, those of a member. */
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

export const readKey = (name: string, of: KeysOf = {}) =>
  requestJson<KeyDocument>('readKey', callFor(of, { parameters: { key: name } }))

export const createKey = (key: Readonly<{ name: string; grants: readonly Grant[] }>, of: KeysOf = {}) =>
  requestJson<KeyDocument>('createKey', callFor(of, { json: key, headers: onlyOnce() }))

export const regenerateToken = (name: string, of: KeysOf = {}) =>
  requestJson<KeyDocument>('regenerateToken', callFor(of, { parameters: { key: name } }))

export const deleteKey = (name: string, of: KeysOf = {}) =>
  requestJson<KeyDocument>('deleteKey', callFor(of, { parameters: { key: name } }))

/** The times of keys are written as no browser has to read them. */
export const timeOfKey = (text: string) => new Date(text.replace(' ', 'T').replace(' +0000', 'Z'))

const callFor = ({ member, signal }: KeysOf, call: Call): Call => ({
  ...call,
  query: { ...call.query, target_user: member },
  signal,
})
