import { CartageError, readRefusal } from '../../src/client/cartage-error.ts'

/** An answer other than success, with everything the service reported. */
export class ApiError extends CartageError {
  constructor(status: number, headers: Headers, text: string) {
    super(...readRefusal(status, (name) => headers.get(name), text))
    this.name = 'ApiError'
  }

  /** The statement ran into the time limit for one request. */
  get isOverTime(): boolean {
    return this.status === 429 && this.detail !== 'rate-limit'
  }
}

/** No answer: the service is down, restarting or unreachable. Whether the request had an effect is unknown. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super('The service does not answer. It may be restarting. Your text is not lost.', { cause })
    this.name = 'UnreachableError'
  }
}

export const isAbort = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'

/** The error of an answer other than success. Reads its body. */
export async function errorOf(response: Response): Promise<ApiError> {
  return new ApiError(response.status, response.headers, await response.text().catch(() => ''))
}
