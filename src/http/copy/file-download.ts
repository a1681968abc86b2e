import type { ServerResponse } from 'node:http'
import type { Transform, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { freeFilled } from '../../copy/free-memory.ts'
import type { ClientWait } from '../../statements/client-wait.ts'
import { breakOff } from '../middleware/break-off.ts'
import { chooseEncoding, createEncoder } from '../middleware/content-encoding.ts'

export type FileHeaders = Readonly<{ type: string; disposition: string }>

/**
 * A response written as its data arrives, compressed if the client accepts that. Bypasses Fastify, whose streams do not
 * tell when a buffer is free again.
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
    const response = this.#reply.hijack().raw
    const headers = { ...this.#reply.getHeaders(), ...fileHeaders(this.#headers) }
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) response.setHeader(name, value)
    if (this.#takesTrailers()) response.setHeader('Trailer', rowsTrailer)
    if (encoding === null) {
      this.#sent = finished(response)
      this.#sink = response
    } else {
      response.setHeader('Content-Encoding', encoding)
      const encoder = createEncoder(encoding)
      this.#sent = sendEncoded(encoder, response)
      this.#sink = encoder
    }
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

/** Like `pipeline`, which does not tell when a chunk is free again. */
function sendEncoded(encoder: Transform, response: ServerResponse): Promise<void> {
  encoder
    .on('data', (chunk: Buffer) => {
      if (!response.write(chunk, freeFilled(chunk))) encoder.pause()
    })
    .on('end', () => response.end())
    .on('error', (error) => response.destroy(error))
  response.on('drain', () => encoder.resume()).on('close', () => encoder.destroy())
  return finished(response)
}

export function fileHeaders({ type, disposition }: FileHeaders): Record<string, string> {
  return { 'Content-Type': type, 'Content-Disposition': disposition, Vary: 'Accept-Encoding' }
}

const rowsTrailer = 'X-Copy-Rows'
