import type { CartageError } from '../../../src/client/cartage-error.ts'
import type { ResultOutcome } from './protocol.ts'

/** An error as it goes from the worker to the page. */
export const refusedBy = (error: CartageError): ResultOutcome => {
  const { message, status, body, requestId, retryAfterSeconds } = error
  return { kind: 'refused', message, facts: { status, body, requestId, retryAfterSeconds } }
}
