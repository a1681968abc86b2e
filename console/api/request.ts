import { type OperationId, operations, pathOf } from '../../src/contract/operations.ts'
import { serviceAddress } from '../parts/browser/address.ts'
import { noteServiceTime } from '../parts/browser/clock.ts'
import { type ApiError, errorOf, isAbort, UnreachableError } from './api-error.ts'
import { waitForService } from './connection.ts'
import { authorizationOf, type Credential } from './credential.ts'
import { noteRateLimit } from './rate-limit.ts'
import { adminToken, askToSignIn, credential, session } from './session.ts'

export type ApiCall = Readonly<{
  /** Parameters of the path. `name`, the account, defaults to the session's. */
  parameters?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string | number | undefined>>
  /** Sent as JSON. */
  json?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal | undefined
  /** Another credential than the session's. Then a 401 is an ordinary error. */
  as?: Credential | undefined
}>

/**
 * Sends a request and returns a successful response. Throws ApiError for any other answer, UnreachableError for no
 * answer, AbortError when the signal fires. Repeats a read when the service is back, and any request after the rate
 * limit has passed or the user has signed in again.
 */
export async function request(operation: OperationId, call: ApiCall = {}): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await sendOnce(operation, call, attempt)
    if (response === 'again') continue
    noteServiceTime(response.headers)
    noteRateLimit(response.headers)
    if (response.ok) return response
    const error = await errorOf(response)
    if (error.status === 401 && !call.as && (await askToSignIn())) continue
    const waitSeconds = error.retryAfterSeconds ?? 1
    if (attempt > 2 || !isPassing(error, operation) || waitSeconds > longestWaitSeconds) throw error
    await pause(waitSeconds * 1000, call.signal)
  }
}

export async function requestJson<T>(operation: OperationId, call: ApiCall = {}): Promise<T> {
  const response = await request(operation, call)
  return (await response.json()) as T
}

/** The URL of an operation, for downloads and links. Never contains a token. */
export function addressOf(operation: OperationId, { parameters, query }: ApiCall = {}): string {
  const url = new URL(
    serviceAddress + pathOf(operation, { name: session.value?.username ?? '', ...parameters }),
  )
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url.href
}

const longestWaitSeconds = 10

/** Worth a retry. A 503 comes while the service stops or starts; a write may have had an effect before it. */
const isPassing = ({ detail, status }: ApiError, operation: OperationId) =>
  detail === 'rate-limit' || (status === 503 && operations[operation][0] === 'GET')

async function sendOnce(operation: OperationId, call: ApiCall, attempt: number): Promise<Response | 'again'> {
  const [method] = operations[operation]
  const who = call.as ?? credentialFor(operation)
  try {
    return await fetch(addressOf(operation, call), {
      method,
      headers: {
        accept: 'application/json',
        ...(who && authorizationOf(who)),
        ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      cache: 'no-store',
      credentials: 'omit',
      ...(call.json === undefined ? {} : { body: JSON.stringify(call.json) }),
      ...(call.signal ? { signal: call.signal } : {}),
    })
  } catch (error) {
    if (isAbort(error) || call.signal?.aborted) throw error
    const isBack = waitForService()
    if (method !== 'GET' || attempt > 2) throw new UnreachableError(error)
    await Promise.race([isBack, pause(unreachableMs, call.signal)])
    return 'again'
  }
}

/** How long a read waits for the service before its page shows the error. */
const unreachableMs = 15_000

function credentialFor(operation: OperationId): Credential | null {
  if (!operations[operation][1].startsWith('/admin/')) return credential.value
  return adminToken.value === null ? null : { kind: 'operator', adminToken: adminToken.value }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
