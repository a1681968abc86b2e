import type { Socket } from 'node:net'
import type { Client } from 'pg'
import { readWireError, type WireError } from './wire-error.ts'

/**
 * What a simple query sends back, message by message. Payloads are handed over as bounds in a buffer that is
 * only valid during the call: copy what must stay.
 */
export type WireHandler = {
  rowDescription?(buffer: Buffer, start: number, end: number): void
  dataRow?(buffer: Buffer, start: number, end: number): void
  copyOut?(): void
  copyData?(buffer: Buffer, start: number, end: number): void
  commandComplete?(tag: string): void
  notice?(notice: WireError): void
  /** The messages of one read from the socket have been handed over: a good moment to pass bytes on. */
  flush?(): void
}

/** How the server ended it: the error if one was raised, and whether a transaction is left open. */
export type WireOutcome = Readonly<{ error: WireError | null; transactionStatus: 'I' | 'T' | 'E' }>

/**
 * One simple-protocol message on a connection of `pg`, read straight from its socket: rows and COPY data never
 * become objects. While it runs, nothing else may use the client; afterwards the client goes on as before.
 */
export class WireQuery {
  /** Settles at ReadyForQuery; rejects only if the connection is lost. */
  readonly done: Promise<WireOutcome>
  readonly #socket: Socket
  readonly #handler: WireHandler
  readonly #reader = new MessageReader()
  readonly #pgListeners: Array<(chunk: Buffer) => void>
  #error: WireError | null = null
  #settle: { resolve: (outcome: WireOutcome) => void; reject: (error: Error) => void } | null = null

  constructor(client: Client, text: string, handler: WireHandler) {
    const { connection } = client as unknown as PgInternals
    this.#socket = connection.stream
    this.#handler = handler
    this.#pgListeners = this.#socket.listeners('data') as Array<(chunk: Buffer) => void>
    this.done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    this.#socket.removeAllListeners('data')
    this.#socket.on('data', this.#onData)
    this.#socket.once('close', this.#onClose)
    connection.query(text)
  }

  /** Stops reading: TCP pushes back on the server. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  readonly #onData = (chunk: Buffer): void => {
    try {
      this.#reader.read(chunk, this.#onMessage)
      this.#handler.flush?.()
    } catch (error) {
      // A handler that throws leaves the stream in the middle of a message: only closing is safe.
      this.#socket.destroy(error as Error)
    }
  }

  readonly #onMessage = (type: number, buffer: Buffer, start: number, end: number): void => {
    switch (type) {
      case messages.dataRow:
        this.#handler.dataRow?.(buffer, start, end)
        break
      case messages.copyData:
        this.#handler.copyData?.(buffer, start, end)
        break
      case messages.rowDescription:
        this.#handler.rowDescription?.(buffer, start, end)
        break
      case messages.commandComplete:
        this.#handler.commandComplete?.(buffer.toString('latin1', start, end - 1))
        break
      case messages.error:
        this.#error ??= readWireError(buffer, start, end)
        break
      case messages.notice:
        this.#handler.notice?.(readWireError(buffer, start, end))
        break
      case messages.copyOutResponse:
        this.#handler.copyOut?.()
        break
      case messages.copyInResponse:
        this.#socket.write(copyFail)
        break
      case messages.readyForQuery:
        this.#finish(String.fromCharCode(buffer[start]!) as WireOutcome['transactionStatus'])
        break
    }
  }

  #finish(transactionStatus: WireOutcome['transactionStatus']): void {
    this.#detach()
    this.#settle!.resolve({ error: this.#error, transactionStatus })
  }

  readonly #onClose = (): void => {
    this.#detach()
    const reason = this.#error
    this.#settle!.reject(
      Object.assign(new Error(reason?.message ?? 'Connection terminated unexpectedly'), {
        code: reason?.sqlstate ?? '08006',
      }),
    )
  }

  #detach(): void {
    this.#socket.off('data', this.#onData)
    this.#socket.off('close', this.#onClose)
    for (const listener of this.#pgListeners) this.#socket.on('data', listener)
  }
}

type PgInternals = { connection: { stream: Socket; query(text: string): void } }

const messages = {
  rowDescription: 0x54,
  dataRow: 0x44,
  copyData: 0x64,
  commandComplete: 0x43,
  error: 0x45,
  notice: 0x4e,
  copyOutResponse: 0x48,
  copyInResponse: 0x47,
  readyForQuery: 0x5a,
} as const

/** CopyFail: a COPY ... FROM STDIN that nobody will feed. */
const copyFail = (() => {
  const reason = Buffer.from('COPY FROM STDIN is not possible here\0')
  const head = Buffer.alloc(5)
  head[0] = 0x66
  head.writeInt32BE(reason.length + 4, 1)
  return Buffer.concat([head, reason])
})()

type OnMessage = (type: number, buffer: Buffer, start: number, end: number) => void

/** Cuts a byte stream into protocol messages. A message that spans reads is gathered once, in a buffer of its size. */
class MessageReader {
  #partial: Buffer | null = null
  #filled = 0

  read(chunk: Buffer, onMessage: OnMessage): void {
    let offset = this.#partial ? this.#continue(chunk, onMessage) : 0
    while (chunk.length - offset >= headerLength) {
      const end = offset + 1 + chunk.readInt32BE(offset + 1)
      if (end > chunk.length) break
      onMessage(chunk[offset]!, chunk, offset + headerLength, end)
      offset = end
    }
    if (offset < chunk.length) this.#begin(chunk, offset)
  }

  #begin(chunk: Buffer, offset: number): void {
    const available = chunk.length - offset
    const total = available >= headerLength ? 1 + chunk.readInt32BE(offset + 1) : headerLength
    this.#partial = Buffer.allocUnsafe(total)
    this.#filled = chunk.copy(this.#partial, 0, offset)
  }

  /** Completes the gathered message as far as the chunk allows; answers how much of the chunk it took. */
  #continue(chunk: Buffer, onMessage: OnMessage): number {
    let offset = 0
    while (this.#partial) {
      const taken = chunk.copy(this.#partial, this.#filled, offset)
      offset += taken
      this.#filled += taken
      if (this.#filled < this.#partial.length) return offset
      const total = 1 + this.#partial.readInt32BE(1)
      if (total > this.#partial.length) {
        const whole = Buffer.allocUnsafe(total)
        this.#partial.copy(whole)
        this.#partial = whole
        continue
      }
      const message = this.#partial
      this.#partial = null
      onMessage(message[0]!, message, headerLength, total)
    }
    return offset
  }
}

const headerLength = 5
