import { arrayParts } from './array-parts.ts'
import { elementOidOf, kindOf, type ValueKind, valueKind } from './pg-types.ts'
import { readTimestamp, type TimestampParts } from './timestamps.ts'

/**
 * Writes one value, given as PostgreSQL's text between `start` and `end` of `source`, as JSON into `target`, and
 * answers where it ends there. The target must have room for `longestJson` of the value's length.
 */
export function writeJsonValue(
  target: Buffer,
  at: number,
  kind: ValueKind,
  typeOid: number,
  source: Buffer,
  start: number,
  end: number,
): number {
  switch (kind) {
    case valueKind.number:
      return writeNumber(target, at, source, start, end)
    case valueKind.boolean:
      return writeAscii(target, at, source[start] === letterT ? 'true' : 'false')
    case valueKind.jsonb:
      return writeBytes(target, at, source, start, end)
    case valueKind.json:
      return writeJsonText(target, at, source, start, end)
    case valueKind.timestamp:
    case valueKind.timestamptz:
    case valueKind.date:
      return writeTimestamp(target, at, kind, source, start, end)
    case valueKind.array:
      return writeArray(target, at, typeOid, source, start, end)
    case valueKind.binary:
      return writeAscii(target, at, `"\\\\x${source.toString('hex', start, end)}"`)
    default:
      return writeString(target, at, source, start, end)
  }
}

/** How many bytes a value of so many bytes can become: all of them control characters, and something around it. */
export function longestJson(length: number): number {
  return 6 * length + 16
}

function writeString(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  target[at] = quote
  const stop = writeEscaped(target, at + 1, source, start, end)
  target[stop] = quote
  return stop + 1
}

/** The inside of a string. */
export function writeEscaped(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  let to = at
  for (let from = start; from < end; from += 1) {
    const byte = source[from]!
    if (isPlain[byte] === 1) target[to++] = byte
    else to = writeAscii(target, to, escapes[byte]!)
  }
  return to
}

export function writeAscii(target: Buffer, at: number, text: string): number {
  for (let place = 0; place < text.length; place += 1) target[at + place] = text.charCodeAt(place)
  return at + text.length
}

export function writeBytes(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  if (end - start > shortBytes) return at + source.copy(target, at, start, end)
  let to = at
  for (let from = start; from < end; from += 1) target[to++] = source[from]!
  return to
}

export function writeHex(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  return at + target.write(source.toString('hex', start, end), at, 'latin1')
}

/** JSON knows neither NaN nor infinities: they become strings. */
function writeNumber(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  const first = source[source[start] === minus ? start + 1 : start]!
  return first <= digitNine
    ? writeBytes(target, at, source, start, end)
    : writeString(target, at, source, start, end)
}

/** The type `json` keeps the line ends between its tokens; a line of NDJSON must not have any. */
export function writeJsonText(
  target: Buffer,
  at: number,
  source: Buffer,
  start: number,
  end: number,
): number {
  let to = at
  for (let from = start; from < end; from += 1) {
    const byte = source[from]!
    target[to++] = byte === lineFeed || byte === carriageReturn ? space : byte
  }
  return to
}

/** ISO 8601 in UTC. What has no such form (infinity, BC, another DateStyle) stays as PostgreSQL wrote it. */
function writeTimestamp(
  target: Buffer,
  at: number,
  kind: ValueKind,
  source: Buffer,
  start: number,
  end: number,
): number {
  const parts = readTimestamp(source, start, end)
  if (!parts) return writeString(target, at, source, start, end)
  target[at] = quote
  const stop = writeIso(target, at + 1, kind, parts, source, start)
  target[stop] = quote
  return stop + 1
}

function writeIso(
  target: Buffer,
  at: number,
  kind: ValueKind,
  { dateEnd, timeEnd, zone }: TimestampParts,
  source: Buffer,
  start: number,
): number {
  const to = writeBytes(target, at, source, start, dateEnd)
  if (kind === valueKind.date) return writeAscii(target, to, 'T00:00:00Z')
  target[to] = letterUpperT
  return writeAscii(target, writeBytes(target, to + 1, source, dateEnd + 1, timeEnd), zone)
}

function writeArray(
  target: Buffer,
  at: number,
  typeOid: number,
  source: Buffer,
  start: number,
  end: number,
): number {
  const elementOid = elementOidOf(typeOid)
  const kind = kindOf(elementOid)
  let to = at
  for (const part of arrayParts(source, start, end)) {
    if (typeof part === 'string') to = writeAscii(target, to, part)
    else to = writeJsonValue(target, to, kind, elementOid, part.source, part.start, part.end)
  }
  return to
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const quote = 0x22
const minus = 0x2d
const digitNine = 0x39
const letterUpperT = 0x54
const letterT = 0x74

/** Below this a loop beats the call into native code. */
const shortBytes = 48

const isPlain = new Uint8Array(256).fill(1, 0x20)
isPlain[0x22] = 0
isPlain[0x5c] = 0

const escapes = Array.from({ length: 0x5d }, (_, code) =>
  JSON.stringify(String.fromCharCode(code)).slice(1, -1),
)
