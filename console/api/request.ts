import { hasCode } from '../../src/client/cartage-error.ts'
import { browserTransport } from '../../src/client/http/browser-transport.ts'
import { type Call, type Connection, send, sendForText } from '../../src/client/http/send.ts'
import type { HttpResponse } from '../../src/client/http/transport.ts'
import { type OperationId, operations, pathOf } from '../../src/contract/operations.ts'
import { serviceAddress } from '../parts/browser/address.ts'
import { noteServiceTime } from '../parts/browser/clock.ts'
import { UnreachableError } from './api-error.ts'
import { waitForService } from './connection.ts'
import { authorizationOf, type Credential } from './credential.ts'
import { noteRateLimit } from './rate-limit.ts'
import { adminToken, askToSignIn, credential, session } from './session.ts'

/** `name` of the path, the account, defaults to the session's. */
export type ApiCall = Pick<
  Call,
  'parameters' | 'query' | 'json' | 'headers' | 'upload' | 'onProgress' | 'isRepeatable' | 'signal'
> &
  Readonly<{
    /** Another credential than the session's. Then a 401 is an ordinary error. */
    as?: Credential | undefined
  }>

/**
 * Sends a request and returns a successful response. Throws ApiError for any other answer, UnreachableError for no
 * answer, AbortError when the signal fires. Repeats a read when the service is back, and any request after the rate
 * limit has passed or the user has signed in again.
 */
export const request = (operation: OperationId, call: ApiCall = {}): Promise<HttpResponse> =>
  sent(send, operation, call)

export const requestText = (operation: OperationId, call: ApiCall = {}): Promise<string> =>
  sent(sendForText, operation, call)

export async function requestJson<T>(operation: OperationId, call: ApiCall = {}): Promise<T> {
  return JSON.parse(await requestText(operation, call)) as T
}

async function sent<Answer>(
  sendBy: (connection: Connection, operation: OperationId, call: Call) => Promise<Answer>,
  operation: OperationId,
  { as, ...call }: ApiCall,
): Promise<Answer> {
  const parameters = { name: session.value?.username ?? '', ...call.parameters }
  try {
    return await sendBy(as ? connectionAs(as) : own(operation), operation, { ...call, parameters })
  } catch (error) {
    throw hasCode(error, 'service-unreachable') ? new UnreachableError(error) : error
  }
}

/** The session's connection and account, for operations of several requests. */
export const ownConnection = (
  operation: OperationId,
): Readonly<{ connection: Connection; name: string }> => ({
  connection: own(operation),
  name: session.value?.username ?? '',
})

/** The URL of an operation, for downloads and links. Never contains a token. */
export function addressOf(
  operation: OperationId,
  { parameters, query }: Pick<ApiCall, 'parameters' | 'query'> = {},
): string {
  const url = new URL(
    serviceAddress + pathOf(operation, { name: session.value?.username ?? '', ...parameters }),
  )
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url.href
}

/** With the credential of the session, also after the user has signed in again. */
const own = (operation: OperationId): Connection => ({
  ...connectionAs(null),
  authorization: () => authorizationOf(credentialFor(operation)),
  // A page for people without an account cannot ask for a sign-in.
  hooks: { ...hooks, ...(isSignedIn() && { onUnauthorized: askToSignIn }) },
})

const isSignedIn = () => session.value !== null || adminToken.value !== null

const connectionAs = (who: Credential | null): Connection => ({
  baseUrl: serviceAddress,
  authorization: () => authorizationOf(who),
  transport: browserTransport,
  retries: 2,
  hooks,
})

const hooks: Connection['hooks'] = {
  onAnswer: ({ header }) => {
    noteServiceTime(header)
    noteRateLimit(header)
  },
  onUnreachable: waitForService,
}

function credentialFor(operation: OperationId): Credential | null {
  if (!operations[operation][1].startsWith('/admin/')) return credential.value
  return adminToken.value === null ? null : { kind: 'operator', adminToken: adminToken.value }
}
