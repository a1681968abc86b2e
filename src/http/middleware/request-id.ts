import type { IncomingHttpHeaders } from 'node:http'
import { readCredential } from '../../auth/credential.ts'
import { tokenPrefix } from '../../auth/token.ts'

type RequestHead = Readonly<{ url?: string | undefined; headers: IncomingHttpHeaders }>

/** The client's own request id, if it is short, plain and not part of its credential. */
export function acceptedRequestId(request: RequestHead): string | undefined {
  const id = request.headers['x-request-id']
  if (typeof id !== 'string' || !/^[A-Za-z0-9._-]{1,128}$/.test(id)) return undefined
  return id.includes(tokenPrefix) || credentialsOf(request).includes(id) ? undefined : id
}

function credentialsOf({ url = '', headers: { authorization } }: RequestHead): readonly string[] {
  const parameters = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '')
  const basic = readCredential({ authorization, query: {} })
  return [
    ...['api_key', 'map_key', 'auth_token', 'auth_token[]'].flatMap((name) => parameters.getAll(name)),
    ...(basic.kind === 'token' ? [basic.token] : []),
    ...(authorization?.split(' ') ?? []),
  ]
}
