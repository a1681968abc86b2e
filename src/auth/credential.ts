/** What a request offers as proof of identity. Only the first place that has a value is read. */
export type Credential =
  | Readonly<{ kind: 'none' }>
  | Readonly<{ kind: 'malformed' }>
  | Readonly<{ kind: 'token'; token: string; username?: string }>

export type CredentialPlaces = Readonly<{
  authorization: string | undefined
  query: Readonly<Record<string, unknown>>
  body?: unknown
}>

export function readCredential({ authorization, query, body }: CredentialPlaces): Credential {
  if (authorization !== undefined) return readBasic(authorization)
  for (const value of [query.api_key, query.map_key, memberOf(body, 'api_key')]) {
    // An empty api_key counts as absent.
    if (value === undefined || value === '') continue
    return typeof value === 'string' && isToken(value) ? { kind: 'token', token: value } : malformed
  }
  return { kind: 'none' }
}

const malformed: Credential = { kind: 'malformed' }

function readBasic(header: string): Credential {
  const encoded = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header.trim())?.[1]
  if (encoded === undefined || encoded.length % 4 !== 0) return malformed
  const [, username, token] = /^([^:]*):(.+)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  if (username === undefined || token === undefined || !isToken(token) || username.includes('\0'))
    return malformed
  return { kind: 'token', token, username }
}

function isToken(value: string): boolean {
  return value.length <= 1024 && !value.includes('\0')
}

function memberOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, name)
    ? (body as Record<string, unknown>)[name]
    : undefined
}
