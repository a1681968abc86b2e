import { CartageError, readRefusal } from '../../src/client/cartage-error.ts'

/** An answer that is not success, with all that the service said of it. */
export class ApiError extends CartageError {
  constructor(status: number, headers: Headers, text: string) {
    super(...readRefusal(status, (name) => headers.get(name), text))
    this.name = 'ApiError'
  }

  /** The statement ran longer than one request may. */
  get isOverTime(): boolean {
    return this.status === 429 && this.detail !== 'rate-limit'
  }
}

/** No answer at all: the service is down, restarting or out of reach. What the request did is then unknown. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super('The service does not answer. It may be restarting; nothing that you typed is lost.', { cause })
    this.name = 'UnreachableError'
  }
}

export const isAbort = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'

/** Makes an error of an answer that is not success, whose body nobody has read yet. */
export async function errorOf(response: Response): Promise<ApiError> {
  return new ApiError(response.status, response.headers, await response.text().catch(() => ''))
}
