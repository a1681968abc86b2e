import type { Socket } from 'node:net'
import { bindMessage, execute, int16, int32, message, sync, unnamed } from './extended-messages.ts'
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

const describe = message('D', 'S', unnamed)
const flush = message('H')
