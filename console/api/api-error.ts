/** An answer that is not success, with all that the service said of it. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string | undefined
  readonly sqlstate: string | undefined
  readonly detail: string | undefined
  readonly hint: string | undefined
  readonly context: string | undefined
  /** Where in the statement, counted from 1 in characters, as PostgreSQL does. */
  readonly position: number | undefined
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, headers: Headers, text: string) {
    const body = parseDocument(text)
    super(messageIn(body) ?? `The service answered ${status}`)
    this.name = 'ApiError'
    this.status = status
    this.code = textIn(body.code)
    this.sqlstate = textIn(body.sqlstate)
    this.detail = textIn(body.detail)
    this.hint = textIn(body.hint)
    this.context = textIn(body.context)
    this.position = Number(body.position) || undefined
    this.requestId = headers.get('x-request-id') ?? undefined
    this.retryAfterSeconds = Number(headers.get('retry-after')) || undefined
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

function parseDocument(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Key endpoints say `errors: "text"`, all others `error: ["text"]`. */
function messageIn({ errors, error }: Record<string, unknown>): string | undefined {
  return [errors, error].flat().find((text) => typeof text === 'string')
}

const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
