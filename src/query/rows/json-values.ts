import { arrayParts } from './array-parts.ts'
import { copyShort, mostRemembered, sources, targets } from './byte-writer.ts'
import { elementOidOf, kindOf, type ValueKind, valueKind } from './pg-types.ts'
import { readTimestamp, type TimestampParts } from './timestamps.ts'

/**
 * Writes one value, given as PostgreSQL's text between `start` and `end` of `source`, as JSON into `target`, and
 * returns where it ends there. The target must have room for `longestJson` of the value's length.
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
      return writeBoolean(target, at, source, start)
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

/** The longest output for a value of this length: all bytes control characters, plus what surrounds it. */
export function longestJson(length: number): number {
  return 6 * length + 16
}

/** PostgreSQL writes `t` and `f`. */
export function writeBoolean(target: Buffer, at: number, source: Buffer, start: number): number {
  const into = targets.viewOf(target)
  if (source[start] === letterT) {
    into.setInt32(at, wordTrue)
    return at + 4
  }
  into.setInt32(at, wordFals)
  target[at + 4] = letterE
  return at + 5
}

function writeString(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  target[at] = quote
  const stop = writeEscaped(target, at + 1, source, start, end)
  target[stop] = quote
  return stop + 1
}

/** The inside of a string. Copies four bytes at a time where none needs an escape. */
export function writeEscaped(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  const isInWords = end - start >= 8 && (source.length <= mostRemembered || end - start > shortBytes)
  if (!isInWords) return writeBytewise(target, at, source, start, end)
  let from = start
  let to = at
  const into = targets.viewOf(target)
  const out = sources.viewOf(source)
  for (; from <= end - 4; from += 4) {
    const word = out.getInt32(from, true)
    if (hasSpecial(word)) to = writeBytewise(target, to, source, from, from + 4)
    else {
      into.setInt32(to, word, true)
      to += 4
    }
  }
  return writeBytewise(target, to, source, from, end)
}

/** True if one of the four bytes is a control character, a quote or a backslash. */
function hasSpecial(word: number): boolean {
  const quotes = word ^ 0x22222222
  const backslashes = word ^ 0x5c5c5c5c
  const found =
    ((word - 0x20202020) & ~word) |
    ((quotes - 0x01010101) & ~quotes) |
    ((backslashes - 0x01010101) & ~backslashes)
  return (found & 0x80808080) !== 0
}

function writeBytewise(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
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
  return copyShort(target, at, source, start, end)
}

export function writeHex(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  return at + target.write(source.toString('hex', start, end), at, 'latin1')
}

/** JSON has neither NaN nor infinities: they become strings. */
function writeNumber(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  const first = source[source[start] === minus ? start + 1 : start]!
  return first <= digitNine
    ? writeBytes(target, at, source, start, end)
    : writeString(target, at, source, start, end)
}

/** The type `json` keeps line breaks between its tokens; a line of NDJSON must not contain any. */
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

/** ISO 8601 in UTC. Values without such a form (infinity, BC, another DateStyle) stay as PostgreSQL wrote them. */
function writeTimestamp(
  target: Buffer,
  at: number,
  kind: ValueKind,
  source: Buffer,
  start: number,
  end: number,
): number {
  if (isPlainUtc(kind, source, start, end)) return writePlainUtc(target, at, source, start, end)
  const parts = readTimestamp(source, start, end)
  if (!parts) return writeString(target, at, source, start, end)
  target[at] = quote
  const stop = writeIso(target, at + 1, kind, parts, source, start)
  target[stop] = quote
  return stop + 1
}

/** `2026-01-31 23:59:59.5+00`, like nearly all. No other style or length of year has these characters in these places. */
function isPlainUtc(kind: ValueKind, source: Buffer, start: number, end: number): boolean {
  return (
    kind === valueKind.timestamptz &&
    source[start + 4] === minus &&
    source[start + 10] === space &&
    source[end - 3] === plus &&
    source[end - 2] === zero &&
    source[end - 1] === zero
  )
}

function writePlainUtc(target: Buffer, at: number, source: Buffer, start: number, end: number): number {
  target[at] = quote
  const stop = copyShort(target, at + 1, source, start, end - '+00'.length)
  target[at + 1 + '2026-01-31'.length] = letterUpperT
  target[stop] = letterZ
  target[stop + 1] = quote
  return stop + 2
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
const plus = 0x2b
const minus = 0x2d
const zero = 0x30
const digitNine = 0x39
const letterUpperT = 0x54
const letterZ = 0x5a
const letterE = 0x65
const letterT = 0x74
const wordTrue = 0x74727565
const wordFals = 0x66616c73

/** Below this a loop is faster than the call into native code. */
const shortBytes = 48

const isPlain = new Uint8Array(256).fill(1, 0x20)
isPlain[0x22] = 0
isPlain[0x5c] = 0

const escapes = Array.from({ length: 0x5d }, (_, code) =>
  JSON.stringify(String.fromCharCode(code)).slice(1, -1),
)
