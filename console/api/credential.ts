/** A key of an account (without a token: its public role), or the operator. */
export type Credential = KeyCredential | Readonly<{ kind: 'operator'; adminToken: string }>

export type KeyCredential = Readonly<{ kind: 'key'; username: string; token: string | null }>

export function authorizationOf(credential: Credential): Record<string, string> {
  if (credential.kind === 'operator') return { authorization: `Bearer ${credential.adminToken}` }
  if (credential.token === null) return {}
  const bytes = new TextEncoder().encode(`${credential.username}:${credential.token}`)
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` }
}
