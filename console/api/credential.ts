import { basicOf } from '../../src/client/http/send.ts'

/** A key of an account (without a token: its public role), or the operator. */
export type Credential = KeyCredential | Readonly<{ kind: 'operator'; adminToken: string }>

export type KeyCredential = Readonly<{ kind: 'key'; username: string; token: string | null }>

/** Undefined without a credential. */
export function authorizationOf(credential: Credential | null): string | undefined {
  if (credential?.kind === 'operator') return `Bearer ${credential.adminToken}`
  return credential?.token == null ? undefined : basicOf(credential.username, credential.token)
}
