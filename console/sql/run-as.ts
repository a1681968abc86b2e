import { signal } from '@preact/signals'
import { listAllKeys } from '../api/keys.ts'
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

/**
 * Learns the other keys, and takes the one that an address has named. While it is not known, nothing is run: what was
 * meant for a weak key is not run with a strong one.
 */
export async function chooseKeyOnceKnown(wanted: string | null): Promise<void> {
  if (wanted !== null) missingKey.value = { name: wanted, why: 'is not known yet' }
  const keys = await readOtherKeys().catch(() => [])
  if (wanted === null) return
  const found = keys.find(({ label }) => label === wanted)
  chosenKey.value = found
  missingKey.value = found ? undefined : { name: wanted, why: 'is none that this session may run as' }
}

/** A key that an address has named, and why nothing can be run as it. */
export const missingKey = signal<Readonly<{ name: string; why: string }> | undefined>(undefined)

async function readOtherKeys(): Promise<readonly RunAs[]> {
  const { username, token, isMaster } = session.value!
  const nobody: RunAs = { label: 'nobody', credential: { kind: 'key', username, token: null } }
  const keys = isMaster ? await listAllKeys() : []
  const regular = keys
    .filter(({ type }) => type === 'regular')
    .map((key): RunAs => ({ label: key.name, credential: { kind: 'key', username, token: key.token } }))
  otherKeys.value = token ? [...regular, nobody] : []
  return otherKeys.value
}
