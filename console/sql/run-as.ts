import { signal } from '@preact/signals'
import type { Credential } from '../api/credential.ts'
import { listAllKeys } from '../api/keys.ts'
import { session } from '../api/session.ts'

/** A key, with the name that people know. */
export type RunAs = Readonly<{ label: string; credential: Credential & { kind: 'key' } }>

/** The key that statements run with. undefined: the session's own key. */
export const chosenKey = signal<RunAs | undefined>(undefined)

/** Only the Master key can read the tokens of other keys. They stay in memory. */
export const otherKeys = signal<readonly RunAs[]>([])

export function ownKey(): RunAs {
  const { username, token, isMaster } = session.value!
  const label = isMaster ? 'Master' : token ? 'this key' : 'anonymous'
  return { label, credential: { kind: 'key', username, token } }
}

/** The key of this name, if it is known: a stored result has only the names of keys. */
export const keyNamed = (name: string): RunAs | undefined =>
  [ownKey(), ...otherKeys.value].find(({ label }) => label === name)

export const currentRunAs = () => chosenKey.value ?? ownKey()

/**
 * Reads the other keys and chooses the one named in a link. Until it is found nothing runs: a statement for a weak key
 * must not run with a strong one.
 */
export async function chooseKeyOnceKnown(wanted: string | null): Promise<void> {
  if (wanted !== null) missingKey.value = { name: wanted, why: 'is still loading' }
  const keys = await readOtherKeys().catch(() => [])
  if (wanted === null) return
  const found = keys.find(({ label }) => label === wanted)
  chosenKey.value = found
  missingKey.value = found ? undefined : { name: wanted, why: 'was not found' }
}

/** The key named in a link, and why it cannot be used. */
export const missingKey = signal<Readonly<{ name: string; why: string }> | undefined>(undefined)

async function readOtherKeys(): Promise<readonly RunAs[]> {
  const { username, token, isMaster } = session.value!
  const anonymous: RunAs = { label: 'anonymous', credential: { kind: 'key', username, token: null } }
  const keys = isMaster ? await listAllKeys() : []
  const regular = keys
    .filter(({ type }) => type === 'regular')
    .map((key): RunAs => ({ label: key.name, credential: { kind: 'key', username, token: key.token } }))
  otherKeys.value = token ? [...regular, anonymous] : []
  return otherKeys.value
}
