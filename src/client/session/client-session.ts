import type { Format } from '../../contract/formats.ts'
import {
  type DoneFrame,
  type NoticeFrame,
  type ProgressFrame,
  rowsEnd,
  rowsStart,
  type SessionFrame,
  type TransactionState,
} from '../../contract/session-frames.ts'
import type { RowsCall, SqlCall } from '../api/data-api.ts'
import { RowStream } from '../api/row-stream.ts'
import { bodyOf, type SqlValue, type Statement, tagged } from '../api/sql-statement.ts'
import { type CartageError, unexpectedAnswer } from '../cartage-error.ts'
import { jsonReader, type Numbers } from '../exact-json.ts'
import type { FrameQueue } from './frame-queue.ts'
import { errorOf, type SessionLink } from './session-link.ts'

export type SessionSqlOptions = Readonly<{
  params?: readonly SqlValue[]
  numbers?: Numbers
  /** Cancels the statement, not the session. */
  signal?: AbortSignal
  onNotice?: (notice: Readonly<{ severity: string; message: string }>) => void
  /** Every second: how long it has run, in seconds, and how many rows were sent. */
  onProgress?: (progress: Readonly<{ time: number; rows: number }>) => void
}>

export type SessionDownloadOptions = Omit<SessionSqlOptions, 'numbers'> & Readonly<{ format?: Format }>

/**
 * One PostgreSQL session: its statements share transactions, settings and temporary tables. They run one after the other. When it
 * is lost, everything throws `session-lost`; there is never a silent new one.
 */
export class ClientSession {
  /** All rows at once, and what is known of them. */
  readonly sql: SqlCall<SessionSqlOptions>
  /** The rows while they arrive. Leaving the loop cancels the statement. */
  readonly rows: RowsCall<SessionSqlOptions>
  readonly #link: SessionLink
  #lastId = 0
  /** The last one whose answer is complete. */
  #endedId = 0
  #transaction: TransactionState = 'none'
  /** Settles when the statement before has ended. */
  #turn: Promise<void> = Promise.resolve()

  constructor(link: SessionLink, clientNumbers: Numbers) {
    this.#link = link
    const rowStream = (sql: Statement, { numbers = clientNumbers, ...options }: SessionSqlOptions) =>
      new RowStream(async () => this.#answer(sql, { ...options, format: 'json' }), jsonReader(numbers))
    this.rows = tagged(rowStream, {}) as RowsCall<SessionSqlOptions>
    this.sql = tagged(
      (sql, options: SessionSqlOptions) => rowStream(sql, options).whole(),
      {},
    ) as SqlCall<SessionSqlOptions>
  }

  /** After the last statement. */
  get transaction(): TransactionState {
    return this.#link.lost ? 'none' : this.#transaction
  }

  /** Why it has ended; null while it is open. */
  get lost(): CartageError | null {
    return this.#link.lost
  }

  /** Settles with the reason when the session is lost or closed. */
  get ended(): Promise<CartageError> {
    return this.#link.ended
  }

  /** The bytes of the answer in a format. */
  async download(sql: Statement, options: SessionDownloadOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    return this.#answer(sql, options)
  }

  /** Ends the session: an open transaction is rolled back. */
  close(): void {
    this.#link.close()
  }

  async *#answer(sql: Statement, options: SessionDownloadOptions): AsyncGenerator<Uint8Array> {
    const endTurn = await this.#takeTurn()
    const { signal } = options
    const id = ++this.#lastId
    const cancel = () => this.#link.tell({ type: 'cancel', id })
    try {
      signal?.throwIfAborted()
      const queue = this.#link.ask({ type: 'query', id, ...bodyFor(sql, options) })
      signal?.addEventListener('abort', cancel)
      try {
        yield* this.#pieces(queue, id, options)
      } finally {
        // The reader has left: the next statement waits for the end of this one.
        if (this.#endedId !== id) {
          cancel()
          await this.#skip(queue)
        }
      }
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', cancel)
      endTurn()
    }
  }

  async *#pieces(
    queue: FrameQueue,
    id: number,
    { format = 'json', onNotice, onProgress }: SessionDownloadOptions,
  ): AsyncGenerator<Uint8Array> {
    const isJson = format === 'json'
    let separator = ''
    if (isJson) yield encode('{"rows":[')
    for (;;) {
      const text = await queue.next()
      if (typeof text !== 'string') yield text
      else if (text.startsWith(rowsStart(id))) {
        yield encode(`${separator}${text.slice(rowsStart(id).length, -rowsEnd.length)}`)
        separator = ','
      } else {
        const frame = JSON.parse(text) as SessionFrame
        if (frame.type === 'notice') onNotice?.(noticeOf(frame))
        else if (frame.type === 'progress') onProgress?.(progressOf(frame))
        else {
          this.#endedId = id
          const done = this.#end(frame)
          if (isJson) yield encode(tailOf(done))
          return
        }
      }
    }
  }

  /** The last frame of an answer. */
  #end(frame: SessionFrame): DoneFrame {
    if (frame.type !== 'error' && frame.type !== 'done')
      throw unexpectedAnswer(`a frame of type '${frame.type}'`)
    this.#transaction = frame.transaction ?? this.#transaction
    if (frame.type === 'error') throw errorOf(frame)
    return frame
  }

  async #skip(queue: FrameQueue): Promise<void> {
    try {
      for (;;) {
        const text = await queue.next()
        if (typeof text !== 'string' || !/^\{"type":"(done|error)"/.test(text)) continue
        this.#end(JSON.parse(text) as SessionFrame)
        return
      }
    } catch {
      // Cancelled, or the session is lost: the next statement will tell.
    }
  }

  async #takeTurn(): Promise<() => void> {
    const before = this.#turn
    let endTurn = (): void => undefined
    this.#turn = new Promise((resolve) => {
      endTurn = resolve
    })
    await before
    return endTurn
  }
}

function bodyFor(sql: Statement, { params, format = 'json' }: SessionDownloadOptions) {
  const bound = typeof sql === 'string' && params ? { text: sql, params } : sql
  return { ...bodyOf(bound), format }
}

const noticeOf = ({ severity, message }: NoticeFrame) => ({ severity, message })
const progressOf = ({ time, rows }: ProgressFrame) => ({ time, rows })

/** What follows the rows in an answer of the SQL endpoint. */
function tailOf({ type: _type, id: _id, transaction: _transaction, ...summary }: DoneFrame): string {
  return `],${JSON.stringify(summary).slice(1)}`
}

const encoder = new TextEncoder()
const encode = (text: string) => encoder.encode(text)
