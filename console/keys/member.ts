import { signal } from '@preact/signals'
import type { KeyDocument } from '../../src/contract/documents.ts'
import { masterKeyName } from '../../src/contract/key-names.ts'
import type { Credential } from '../api/credential.ts'
import { type KeysOf, readKey } from '../api/keys.ts'
import { credential, session } from '../api/session.ts'
import { pathTo } from '../parts/route.ts'

/** Whose keys are on the screen: empty means one's own. */
export const member = signal('')

export const keysOf = (): KeysOf => ({ member: member.value || undefined })

export const usernameOf = () => member.value || session.value!.username

export const credentialOf = ({ user, token }: Pick<KeyDocument, 'user' | 'token'>): Credential => ({
  kind: 'key',
  username: user.username,
  token,
})

/** By which one asks what can be given away: one's own Master key, or the member's. */
export async function masterCredential(signal: AbortSignal): Promise<Credential> {
  return member.value
    ? credentialOf(await readKey(masterKeyName, { ...keysOf(), signal }))
    : credential.value!
}

/** A key may be called `new`, which is also the address of the form for another. */
export const pathToKey = (name: string) =>
  name === 'new' ? pathTo('keys', name, 'key') : pathTo('keys', name)
