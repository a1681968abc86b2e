/** One of our statements by the extended protocol. Its types need not be asked for, so all of it is sent at once. */
export type OwnText = Readonly<{
  sql: string
  /** Values as text. */
  values?: readonly (string | null)[]
  /** The server keeps it under this name. */
  name?: string
  /** The server has it under its name. */
  isPrepared?: boolean
  /** The values of the answer are in PostgreSQL's binary format. */
  isBinary?: boolean
}>

/** With one Sync, so that the server skips all that follows an error. Nothing is described: the reader knows the columns. */
export const ownMessages = (texts: readonly OwnText[]): Buffer =>
  Buffer.concat([...texts.flatMap(messagesOf), sync])

function messagesOf({ sql, values = [], name = '', isPrepared, isBinary }: OwnText): readonly Buffer[] {
  const parse = isPrepared ? [] : [message('P', `${name}\0`, `${sql}\0`, int16(0))]
  return [...parse, bindMessage(values, name, isBinary), execute]
}

/** All values are text. */
export function bindMessage(values: readonly (string | null)[], name = '', isBinary = false): Buffer {
  const formats = isBinary ? binaryFormats : textFormats
  return message('B', unnamed, `${name}\0`, int16(0), int16(values.length), bytesOf(values), formats)
}

export function bytesOf(values: readonly (string | null)[]): Buffer {
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

export function message(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const length = body.reduce((sum, { length }) => sum + length, 4)
  return Buffer.concat([Buffer.from(type), int32(length), ...body])
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

export const unnamed = '\0'
const noValue = -1
const textFormats = int16(0)
/** One format for all columns. */
const binaryFormats = Buffer.concat([int16(1), int16(1)])
export const execute = message('E', unnamed, int32(0))
export const sync = message('S')
