import type { ErrorCode } from '../../contract/error-codes.ts'
import { CartageError } from '../cartage-error.ts'

/** How long to wait before a request is sent again, in ms; undefined: it must not be, or not so soon. */
export function waitBeforeRetry(error: unknown, attempt: number, isRepeatable: boolean): number | undefined {
  if (!(error instanceof CartageError)) return undefined
  if (error.status === 0) return isRepeatable || hasNotArrived(error.cause) ? backoffMs(attempt) : undefined
  if (isRepeatable && outcomeUnknown.has(error.code ?? '')) return backoffMs(attempt)
  const waitMs = (error.retryAfterSeconds ?? Number.NaN) * 1000
  const isSafe = isRepeatable || wasNotBegun(error)
  return isSafe && waitMs <= longestWaitMs ? waitMs : undefined
}

/** The service says so itself: a limit of requests, or no connection to run the statement on. */
function wasNotBegun({ status, code }: CartageError): boolean {
  return status === 429 || (status === 503 && notBegun.has(code ?? ''))
}

const notBegun: ReadonlySet<string> = new Set<ErrorCode>([
  'connections-exhausted',
  'shutting-down',
  'parser-unavailable',
])

/** The service lost its own connection, and does not say that the request may be sent again. */
const outcomeUnknown: ReadonlySet<string> = new Set<ErrorCode>(['statement-outcome-unknown'])

/** Whether a later request may be answered: there was no answer, or a refusal that says nothing about the request. */
export const isPassing = (error: unknown): boolean =>
  error instanceof CartageError && (error.status === 0 || error.status === 429 || error.status >= 500)

/** While one waits for a service to come back: soon at first, then every few seconds, or when it says so itself. */
export function waitBeforeReconnect(error: unknown, attempt: number): number {
  const toldMs = error instanceof CartageError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.min(Math.max(toldMs, backoffMs(Math.min(attempt, 5))), longestWaitMs)
}

/** Nobody listens there. Browsers do not tell. */
function hasNotArrived(cause: unknown): boolean {
  return (cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED'
}

/** About 0.2, 0.4, 0.8 s: not all clients of a service that restarts at the same moment. */
const backoffMs = (attempt: number) => 100 * 2 ** attempt * (0.75 + Math.random() / 2)

const longestWaitMs = 30_000

/** Ends early with the reason of the signal. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
