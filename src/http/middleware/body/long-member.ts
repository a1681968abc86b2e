import { randomUUID } from 'node:crypto'
import { memberPlaces } from '../../../contract/text/json-rows.ts'
import { nextTurn } from '../../../waiting/next-turn.ts'
import { decodeEscapes } from './form.ts'

/** A body whose one long member was replaced by `placeholder`. */
export type Shortened = Readonly<{ rest: Buffer; long?: () => Promise<string> }>

/** A value that no caller can guess. */
export const placeholder = randomUUID()

/** For a JSON object, if the member is a string. It is searched in the first `most` bytes. */
export async function shortenJson(bytes: Buffer, name: string, most: number): Promise<Shortened> {
  const start = startInJson(bytes.toString('latin1', 0, most), name)
  if (start === undefined) return { rest: bytes }
  const place = { start, end: await endOfLiteral(bytes, start) }
  if (!isLong(place)) return { rest: bytes }
  const literal = bytes.subarray(place.start + 1, place.end - 1)
  return {
    rest: replaced(bytes, place, `"${placeholder}"`),
    long: () => textInSteps(literal, beforeEscape, jsonText),
  }
}

/** The same for a form. An escaped name (`%71`) is not found: its value is treated like any other. */
export async function shortenForm(bytes: Buffer, name: string, most: number): Promise<Shortened> {
  const place = placeInForm(bytes, `${name}=`, most)
  if (!place) return { rest: bytes }
  const value = bytes.subarray(place.start, place.end)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const long = () =>
    textInSteps(value, beforePercent, (piece, isLast) =>
      decoder.decode(decodeEscapes(piece), { stream: !isLast }),
    )
  return { rest: replaced(bytes, place, placeholder), long }
}

/** Decodes a text that may be long. Invalid UTF-8 becomes U+FFFD. */
export async function longText(bytes: Buffer): Promise<string> {
  if (bytes.length <= shortest) return bytes.toString('utf8')
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return textInSteps(bytes, anywhere, (piece, isLast) => decoder.decode(piece, { stream: !isLast }))
}

type Span = Readonly<{ start: number; end: number }>

function startInJson(text: string, name: string): number | undefined {
  const begin = text.search(/\S/)
  if (text[begin] !== '{') return undefined
  try {
    for (const place of memberPlaces(text, begin))
      if (place.name === name && text[place.start] === '"') return place.start
  } catch {
    // A name that is not JSON: the parser will report it.
  }
  return undefined
}

/** The position after the closing quote of the string that begins at `start`. */
async function endOfLiteral(bytes: Buffer, start: number): Promise<number> {
  for (let at = start + 1; at < bytes.length; ) {
    const turnEnd = Math.min(at + 2 * stepBytes, bytes.length)
    while (at < turnEnd) {
      if (bytes[at] === quote) return at + 1
      at += bytes[at] === backslash ? 2 : 1
    }
    await nextTurn()
  }
  return bytes.length
}

function placeInForm(bytes: Buffer, beginning: string, most: number): Span | undefined {
  for (let at = 0; at <= most && at < bytes.length; at += 1) {
    const found = bytes.indexOf(beginning, at)
    if (found === -1 || found > most) return undefined
    at = found
    if (at > 0 && bytes[at - 1] !== ampersand) continue
    const next = bytes.indexOf(ampersand, at)
    const place = { start: at + beginning.length, end: next === -1 ? bytes.length : next }
    if (isLong(place)) return place
  }
  return undefined
}

const isLong = ({ start, end }: Span) => end - start > shortest

function replaced(bytes: Buffer, { start, end }: Span, text: string): Buffer {
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(text), bytes.subarray(end)])
}

/** Where, at or before `end`, a piece may end. `start` is the end of the previous piece. */
type Cut = (bytes: Buffer, start: number, end: number) => number

/** One piece per turn of the event loop: decoding 16 MB at once would block all requests for a fifth of a second. */
async function textInSteps(
  bytes: Buffer,
  cut: Cut,
  textOf: (piece: Buffer, isLast: boolean) => string,
): Promise<string> {
  const texts: string[] = []
  for (let start = 0; start < bytes.length; ) {
    const isLast = bytes.length - start <= stepBytes
    const end = isLast ? bytes.length : cut(bytes, start, start + stepBytes)
    await nextTurn()
    texts.push(textOf(bytes.subarray(start, end), isLast))
    start = end
  }
  await nextTurn()
  return texts.join('')
}

const anywhere: Cut = (_bytes, _start, end) => end

/** Not inside `%41`. */
const beforePercent: Cut = (bytes, _start, end) => {
  if (bytes[end - 1] === percent) return end - 1
  return bytes[end - 2] === percent ? end - 2 : end
}

/** Neither inside a character nor inside `\n` or `\u0041`. */
const beforeEscape: Cut = (bytes, start, last) => {
  let end = last
  while ((bytes[end]! & 0xc0) === 0x80 && end > start) end -= 1
  for (let at = end - 1; at >= end - 5 && at > start; at -= 1) {
    if (bytes[at] !== backslash) continue
    let first = at
    while (first > start && bytes[first - 1] === backslash) first -= 1
    const isEscaped = (at - first) % 2 === 1
    const length = bytes[at + 1] === letterU ? 6 : 2
    return !isEscaped && at + length > end ? at : end
  }
  return end
}

const jsonText = (piece: Buffer) => JSON.parse(`"${strictUtf8.decode(piece)}"`) as string

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const [quote, percent, ampersand, backslash, letterU] = [34, 37, 38, 92, 117] as const

/** Shorter values need not be cut out. */
const shortest = 64 * 1024
/** About ten milliseconds. */
const stepBytes = 1024 ** 2
