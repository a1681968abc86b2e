import type { IncomingHttpHeaders } from 'node:http'

/** An answer that is not success: its status, its text, and what else the service said. */
export class CartageError extends Error {
  readonly status: number
  /** Of the closed list in docs/errors.md; the key endpoints send none. */
  readonly code: string | undefined
  /** Where PostgreSQL gave one. */
  readonly sqlstate: string | undefined
  /** The whole error document, if it was JSON. */
  readonly body: Readonly<Record<string, unknown>>
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, headers: IncomingHttpHeaders, text: string) {
    const body = parseDocument(text)
    super(messageIn(body) ?? `The service answered ${status}`)
    this.name = 'CartageError'
    this.status = status
    this.code = textIn(body.code)
    this.sqlstate = textIn(body.sqlstate)
    this.body = body
    this.requestId = headers['x-request-id'] as string | undefined
    this.retryAfterSeconds = headers['retry-after'] ? Number(headers['retry-after']) : undefined
  }
}

const textIn = (value: unknown) => (typeof value === 'string' ? value : undefined)

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
