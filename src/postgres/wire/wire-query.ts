import type { Socket } from 'node:net'
import type { Client } from 'pg'
import { BoundQuery, type BoundText } from './bound-query.ts'
import { copyDataHeader, copyDone, copyFail } from './copy-messages.ts'
import { type OwnText, ownMessages, sync } from './extended-messages.ts'
import { MessageReader } from './message-reader.ts'
import { queryMessage, queryMessages, sendLong } from './query-messages.ts'
import { RecyclingSocket } from './recycling-socket.ts'
import { RowCounts } from './row-counts.ts'
import { promotedRefused, standbyRefused, standbyStatus } from './standby.ts'
import { readWireError, type WireError } from './wire-error.ts'
import type { WireHandler, WireOutcome } from './wire-handler.ts'
import { messages } from './wire-messages.ts'

/** One simple query message, as text or bytes; one statement with parameters; or some of ours, of which an error skips the rest. */
export type WireText = string | Buffer | BoundText | readonly OwnText[]

/**
 * A query on a `pg` connection, read directly from its socket: rows and COPY data never become objects. While it runs,
 * nothing else may use the client; afterwards the client works as before. Several messages are sent together and run
 * one after the other, even after an error; only the first may be another than a text.
 */
export class WireQuery {
  /** Settles with the outcome of the last message; rejects only if the connection is lost. */
  readonly done: Promise<WireOutcome>
  /** One for each message answered so far. */
  readonly outcomes: WireOutcome[] = []
  readonly #messageCount: number
  readonly #socket: Socket
  readonly #handler: WireHandler
  readonly #reader: MessageReader
  /** The removed 'data' listeners of `pg`, if the socket is a plain one. */
  readonly #pgListeners: readonly ChunkListener[]
  readonly #bound: BoundQuery | null = null
  readonly #counts: RowCounts
  /** Bytes read but not delivered because of `hold`. */
  #unread: Buffer = empty
  #error: WireError | null = null
  /** The server waits for COPY data. */
  #isFed = false
  #settle: { resolve: (outcome: WireOutcome) => void; reject: (error: Error) => void } | null = null

  constructor(client: Client, texts: readonly WireText[], handler: WireHandler, counts = new RowCounts()) {
    this.#counts = counts
    const { connection } = client as unknown as PgInternals
    this.#messageCount = texts.length
    this.#socket = connection.stream
    this.#handler = handler
    this.#reader = new MessageReader(handler.longestRow ?? shortRow)
    this.#pgListeners = this.#takeReads()
    this.done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // A socket that has already closed emits no further event.
    if (this.#socket.closed) process.nextTick(this.#onClose)
    const [first] = texts
    if (Buffer.isBuffer(first)) sendLong(this.#socket, queryMessage(first))
    else if (typeof first === 'object' && 'bind' in first)
      this.#bound = new BoundQuery(this.#socket, first, texts.slice(1) as string[])
    else if (isOwn(first)) this.#socket.write(ownMessages(first))
    else this.#socket.write(queryMessages(texts as string[]))
  }

  /** The kernel buffers megabytes over TCP, but only some 200 KB over a Unix socket. */
  get isOverTcp(): boolean {
    return this.#socket.remoteAddress !== undefined
  }

  /** We wait for the server: our data is sent or queued, and we are reading. */
  get isServersTurn(): boolean {
    return !this.#socket.isPaused() && (!this.#isFed || this.#socket.writableLength > 0)
  }

  /** Stops reading: TCP applies backpressure to the server. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    if (this.#socket.isPaused()) this.#socket.resume()
  }

  /**
   * Call during a row that is longer than one read: nothing more is delivered before `goOn`, and the row stays valid
   * until then.
   */
  hold(): void {
    this.#reader.hold()
    this.#socket.pause()
  }

  goOn(): void {
    const unread = this.#unread
    this.#unread = empty
    this.#reader.goOn()
    this.#socket.resume()
    if (unread.length > 0) this.#onRead(unread)
  }

  /** False: wait for `copyDrained`. The chunk must not change before `sent` is called. */
  sendCopyData(chunk: Buffer, sent: (error?: Error | null) => void): boolean {
    this.#socket.cork()
    this.#socket.write(copyDataHeader(chunk.length))
    this.#socket.write(chunk, sent)
    this.#socket.uncork()
    return this.#socket.writableLength < maxUnsentBytes
  }

  /** All data has been sent: the server may store it. */
  finishCopy(): void {
    this.#isFed = false
    this.#socket.write(copyDone)
  }

  /** The server discards the data. */
  failCopy(reason: string): void {
    this.#isFed = false
    this.#socket.write(copyFail(reason))
  }

  readonly #onRead = (chunk: Buffer, giveBack: () => void = nothing): void => {
    try {
      if (this.#handler.copyData) this.#readCopy(chunk, giveBack)
      else {
        const length = this.#reader.read(chunk, this.#onMessage)
        if (length < chunk.length) this.#unread = Buffer.from(chunk.subarray(length))
        giveBack()
      }
      this.#handler.flush?.()
    } catch (error) {
      // A handler that throws leaves the stream inside a message: only closing is safe.
      this.#socket.destroy(error as Error)
    }
  }

  #readCopy(chunk: Buffer, giveBack: () => void): void {
    const length = this.#reader.compact(chunk, this.#onMessage)
    if (length > 0 && !this.#hasFailed()) this.#handler.copyData!(chunk.subarray(0, length), giveBack)
    else giveBack()
  }

  #hasFailed(): boolean {
    return this.#error !== null || this.outcomes.some(({ error }) => error !== null)
  }

  readonly #onDrain = (): void => {
    this.#handler.copyDrained?.()
  }

  readonly #onMessage = (type: number, buffer: Buffer, start: number, end: number): void => {
    switch (type) {
      case messages.dataRow:
        this.#handler.dataRow?.(buffer, start, end)
        break
      case messages.cutRow:
        this.#handler.rowTooLong?.()
        break
      case messages.rowDescription:
        this.#counts.sends()
        this.#handler.rowDescription?.(buffer, start, end)
        break
      case messages.commandComplete:
        this.#complete(buffer.toString('latin1', start, end - 1))
        break
      case messages.error:
        this.#fail(readWireError(buffer, start, end))
        break
      case messages.parseComplete:
        this.#handler.parsed?.()
        break
      case messages.parameterDescription:
        this.#bound?.goOn(buffer, start)
        break
      case messages.notice:
        this.#handler.notice?.(readWireError(buffer, start, end))
        break
      case messages.copyOutResponse:
        this.#counts.sends()
        this.#handler.copyOut?.()
        break
      case messages.copyInResponse:
        this.#copyIn()
        break
      case messages.parameterStatus:
        this.#parameterStatus(buffer, start, end)
        break
      case messages.readyForQuery:
        this.#finish(String.fromCharCode(buffer[start]!) as WireOutcome['transactionStatus'])
        break
    }
  }

  #complete(tag: string): void {
    this.#counts.complete(tag)
    this.#handler.commandComplete?.(tag)
  }

  #fail(error: WireError): void {
    // The server says why it ends the connection, perhaps in the same read. What it has answered before is whole.
    if (this.outcomes.length === this.#messageCount) return
    this.#error ??= error
    this.#bound?.giveUp()
  }

  #copyIn(): void {
    if (this.#handler.feedCopy) {
      // Not earlier: a long statement also emits 'drain'.
      if (this.#handler.copyDrained) this.#socket.on('drain', this.#onDrain)
      this.#isFed = true
      this.#handler.feedCopy()
      return
    }
    this.failCopy('COPY FROM STDIN is not possible here')
    // The server took the previous Sync for COPY data.
    if (this.#bound) this.#socket.write(sync)
    this.#handler.copyIn?.()
  }

  #parameterStatus(buffer: Buffer, start: number, end: number): void {
    const [name = '', value = ''] = buffer.toString('utf8', start, end).split('\0')
    // The status has changed since the login.
    if (name === standbyStatus) throw value === 'on' ? standbyRefused() : promotedRefused()
    this.#handler.parameterStatus?.(name, value)
  }

  #finish(transactionStatus: WireOutcome['transactionStatus']): void {
    const outcome = { error: this.#error, transactionStatus }
    this.outcomes.push(outcome)
    this.#error = null
    if (this.outcomes.length === this.#messageCount) {
      this.#detach()
      this.#settle!.resolve(outcome)
    }
    this.#handler.answered?.(outcome)
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
    this.#giveBackReads()
    if (this.#handler.copyDrained) this.#socket.off('drain', this.#onDrain)
  }

  #takeReads(): readonly ChunkListener[] {
    const socket = this.#socket
    if (socket instanceof RecyclingSocket) {
      socket.takeReads(this.#onRead, this.#onClose)
      return []
    }
    socket.on('close', this.#onClose)
    const listeners = socket.listeners('data') as ChunkListener[]
    socket.removeAllListeners('data').on('data', this.#onRead)
    return listeners
  }

  #giveBackReads(): void {
    const socket = this.#socket
    if (socket instanceof RecyclingSocket) {
      socket.takeReads(null, null)
      return
    }
    socket.off('close', this.#onClose)
    socket.off('data', this.#onRead)
    for (const listener of this.#pgListeners) socket.on('data', listener)
  }
}

const isOwn = (text: WireText | undefined): text is readonly OwnText[] => Array.isArray(text)

const nothing = () => undefined
const empty = Buffer.alloc(0)
const shortRow = 64 * 1024

type ChunkListener = (chunk: Buffer) => void
type PgInternals = { connection: { stream: Socket } }

/** Limit of unsent COPY data; beyond it the sender must wait. */
const maxUnsentBytes = 512 * 1024
