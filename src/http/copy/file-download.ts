import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ClientWait } from '../../statements/time-limits.ts'
import { chooseEncoding } from '../middleware/content-encoding.ts'
import { breakOff, encodedInto, hijacked } from '../middleware/download/raw-answer.ts'

export type FileHeaders = Readonly<{ type: string; disposition: string }>

/**
 * A response written as its data arrives, compressed if the client accepts that. Bypasses Fastify, whose streams do not
 * report when a buffer is free again.
 */
export class FileDownload {
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #headers: FileHeaders
  #sink: Writable | null = null
  #sent: Promise<void> | null = null

  constructor(request: FastifyRequest, reply: FastifyReply, headers: FileHeaders) {
    this.#request = request
    this.#reply = reply
    this.#headers = headers
  }

  get isOpen(): boolean {
    return this.#sink !== null
  }

  /** From here on an error can only break the stream. */
  open(): Writable {
    const encoding = chooseEncoding(this.#request.headers['accept-encoding'])
    const response = hijacked(this.#reply, fileHeaders(this.#headers))
    if (this.#takesTrailers()) response.setHeader('Trailer', rowsTrailer)
    this.#sent = finished(response)
    this.#sink = encoding === null ? response : encodedInto(response, encoding)
    // `end` throws this error; until it is called the rejection must not count as unhandled.
    this.#sent.catch(() => undefined)
    return this.#sink
  }

  /** Resolves when the client has received everything, rejects if it left before. */
  async end(rows: number, wait: ClientWait): Promise<void> {
    if (this.#takesTrailers()) this.#reply.raw.addTrailers({ [rowsTrailer]: String(rows) })
    wait.begin(() => this.break())
    this.#sink!.end()
    await this.#sent
    wait.end()
  }

  break(): void {
    breakOff(this.#reply.raw)
  }

  #takesTrailers(): boolean {
    const { headers, raw } = this.#request
    return raw.httpVersion !== '1.0' && /(^|,)\s*trailers\s*(;|,|$)/i.test(String(headers.te ?? ''))
  }
}

export function fileHeaders({ type, disposition }: FileHeaders): Record<string, string> {
  return { 'Content-Type': type, 'Content-Disposition': disposition, Vary: 'Accept-Encoding' }
}

const rowsTrailer = 'X-Copy-Rows'
