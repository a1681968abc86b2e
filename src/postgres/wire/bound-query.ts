import type { Socket } from 'node:net'
import { queryMessages, sendLong } from './query-messages.ts'

/** One statement with parameters. */
export type BoundText = Readonly<{
  text: string | Buffer
  /** Given the types that PostgreSQL inferred, the values as PostgreSQL writes them; null: it shall not run. */
  bind: (types: readonly number[]) => readonly (string | null)[] | null
}>

/**
 * One statement by the extended protocol. PostgreSQL reads it first and tells the types of its parameters; then the
 * values go, and behind them the simple messages that are to follow. Nothing has a name, so the next simple message
 * removes what is left of it.
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

  /** To be called with the ParameterDescription. */
  goOn(buffer: Buffer, start: number): void {
    if (!this.#isWaiting) return
    const values = this.#bind(readTypes(buffer, start))
    this.#finish(values ? [bindMessage(values), execute, sync] : [sync])
  }

  /** To be called with an error: before the values have gone the server waits for the end. */
  giveUp(): void {
    if (this.#isWaiting) this.#finish([sync])
  }

  #finish(last: readonly Buffer[]): void {
    this.#isWaiting = false
    this.#socket.write(Buffer.concat([...last, queryMessages(this.#followers)]))
  }
}

/** Of a text whose bytes are many: they are not copied. */
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
  // One unit of a string takes three bytes at most.
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
