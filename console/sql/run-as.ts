import { signal } from '@preact/signals'
import type { KeyList } from '../../src/client/documents.ts'
import { requestJson } from '../api/request.ts'
import { session } from '../api/session.ts'
import type { RunAs } from './runs.ts'

/** As whom statements are run: the session's own key, unless another was chosen. */
export const chosenKey = signal<RunAs | undefined>(undefined)

/** Tokens of other keys are known to a Master key alone, and stay in memory. */
export const otherKeys = signal<readonly RunAs[]>([])

export function ownKey(): RunAs {
  const { username, token, isMaster } = session.value!
  const label = isMaster ? 'Master' : token ? 'this key' : 'nobody'
  return { label, credential: { kind: 'key', username, token } }
}

export const currentRunAs = () => chosenKey.value ?? ownKey()

export async function readOtherKeys(): Promise<void> {
  const { username, token, isMaster } = session.value!
  const nobody: RunAs = { label: 'nobody', credential: { kind: 'key', username, token: null } }
  if (!isMaster) {
    otherKeys.value = token ? [nobody] : []
    return
  }
  const { result } = await requestJson<KeyList>('listKeys', { query: { per_page: 1000, type: 'regular' } })
  const keys = result.map(
    (key): RunAs => ({ label: key.name, credential: { kind: 'key', username, token: key.token } }),
  )
  otherKeys.value = [...keys, nobody]
  const wanted = keyOfAddress()
  if (wanted !== null) chosenKey.value = keys.find(({ label }) => label === wanted)
}

/** `/sql#as=reader`: the page of a key leads here. */
const keyOfAddress = () => new URLSearchParams(location.hash.slice(1)).get('as')
