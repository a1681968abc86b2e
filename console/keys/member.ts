import { signal } from '@preact/signals'
import type { KeyDocument } from '../../src/contract/documents.ts'
import { masterKeyName } from '../../src/contract/key-names.ts'
import type { Credential } from '../api/credential.ts'
import { type KeysOf, readKey } from '../api/keys.ts'
import { credential, session } from '../api/session.ts'
import { pathTo } from '../parts/browser/route.ts'

/** The member whose keys are shown. Empty: the user's own keys. */
export const member = signal('')

export const keysOf = (): KeysOf => ({ member: member.value || undefined })

export const usernameOf = () => member.value || session.value!.username

export const credentialOf = ({ user, token }: Pick<KeyDocument, 'user' | 'token'>): Credential => ({
  kind: 'key',
  username: user.username,
  token,
})

/** The Master key of the user or of the member, to read which rights can be granted. */
export async function masterCredential(signal: AbortSignal): Promise<Credential> {
  return member.value
    ? credentialOf(await readKey(masterKeyName, { ...keysOf(), signal }))
    : credential.value!
}

/** `/keys/new` is the form, so a key called `new` has another path. */
export const pathToKey = (name: string) =>
  name === 'new' ? pathTo('keys', name, 'key') : pathTo('keys', name)
