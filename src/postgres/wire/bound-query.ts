import type { Socket } from 'node:net'
import { queryMessages, sendLong } from './query-messages.ts'

/** One statement with parameters. */
export type BoundText = Readonly<{
  text: string | Buffer
  /** Maps the inferred types to values in PostgreSQL's text format; null: do not run the statement. */
  bind: (types: readonly number[]) => readonly (string | null)[] | null
}>

/**
 * One statement by the extended protocol. PostgreSQL parses it first and returns its parameter types; then the values
 * are sent, followed by the simple messages. Statement and portal are unnamed, so the next simple message removes them.
 */
export class BoundQuery {
  readonly #socket: Socket
  readonly #bind: BoundText['bind']
  readonly #followers: readonly string[]
  #isWaiting = true

  constructor(socket: Socket, { text, bind }: BoundText, followers: readonly string[]) {
    this.#socket = socket
    this.#bind = bind
    this.#followers = followers
    if (typeof text === 'string')
      socket.write(Buffer.concat([message('P', unnamed, `${text}\0`, int16(0)), describe, flush]))
    else sendLong(socket, [...parseMessage(text), describe, flush])
  }

  /** Call with the ParameterDescription. */
  goOn(buffer: Buffer, start: number): void {
    if (!this.#isWaiting) return
    const values = this.#bind(readTypes(buffer, start))
    this.#finish(values ? [bindMessage(values), execute, sync] : [sync])
  }

  /** Call on an error: before the values are sent, the server waits for a Sync. */
  giveUp(): void {
    if (this.#isWaiting) this.#finish([sync])
  }

  #finish(last: readonly Buffer[]): void {
    this.#isWaiting = false
    this.#socket.write(Buffer.concat([...last, queryMessages(this.#followers)]))
  }
}

/** Parse message for a long text, whose bytes are not copied. */
function parseMessage(text: Buffer): readonly Buffer[] {
  const end = Buffer.alloc(3)
  return [Buffer.from('P'), int32(4 + 1 + text.length + end.length), Buffer.alloc(1), text, end]
}

function readTypes(buffer: Buffer, start: number): number[] {
  const count = buffer.readUInt16BE(start)
  return Array.from({ length: count }, (_, place) => buffer.readUInt32BE(start + 2 + 4 * place))
}

/** All values and all columns are text. */
function bindMessage(values: readonly (string | null)[]): Buffer {
  return message('B', unnamed, unnamed, int16(0), int16(values.length), bytesOf(values), int16(0))
}

function bytesOf(values: readonly (string | null)[]): Buffer {
  // A UTF-16 unit takes at most three bytes.
  const bytes = Buffer.allocUnsafe(values.reduce((sum, value) => sum + 4 + 3 * (value?.length ?? 0), 0))
  let at = 0
  for (const value of values) {
    const length = value === null ? noValue : bytes.write(value, at + 4)
    bytes.writeInt32BE(length, at)
    at += 4 + Math.max(length, 0)
  }
  return bytes.subarray(0, at)
}

function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const length = body.reduce((sum, { length }) => sum + length, 4)
  return Buffer.concat([Buffer.from(type), int32(length), ...body])
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const unnamed = '\0'
const noValue = -1
const describe = message('D', 'S', unnamed)
const flush = message('H')
const execute = message('E', unnamed, int32(0))
export const sync = message('S')
