import { CartageError } from '../../src/client/cartage-error.ts'

/** An answer other than success, with everything the service reported. */
export { CartageError as ApiError }

/** The statement ran into the time limit for one request. */
export const isOverTime = (error: unknown) =>
  error instanceof CartageError && error.status === 429 && error.detail !== 'rate-limit'

/** No answer: the service is down, restarting or unreachable. The outcome of the request is unknown. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super('The service does not answer. It may be restarting. Your text is not lost.', { cause })
    this.name = 'UnreachableError'
  }
}

export const isAbort = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'
