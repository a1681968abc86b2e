/** A piece of an array: an element's text, or literal JSON (a bracket, a comma, null). */
export type ArrayPart = string | Readonly<{ source: Buffer; start: number; end: number }>

/** Splits PostgreSQL's array text (`{1,NULL,"a b",{...}}`, optionally after `[0:2]=`) into the parts of a JSON array. */
export function* arrayParts(source: Buffer, start: number, end: number): Generator<ArrayPart> {
  let at = source.indexOf(openBrace, start)
  while (at < end) {
    const byte = source[at]!
    if (byte === quote) {
      const stop = quotedEnd(source, at + 1)
      yield unquoted(source, at + 1, stop)
      at = stop + 1
    } else if (byte === openBrace || byte === closeBrace || byte === comma) {
      yield byte === openBrace ? '[' : byte === closeBrace ? ']' : ','
      at += 1
    } else {
      const stop = bareEnd(source, at)
      yield source.toString('latin1', at, stop) === 'NULL' ? 'null' : { source, start: at, end: stop }
      at = stop
    }
  }
}

function bareEnd(source: Buffer, start: number): number {
  let end = start
  while (source[end] !== comma && source[end] !== closeBrace) end += 1
  return end
}

function quotedEnd(source: Buffer, start: number): number {
  let end = start
  while (source[end] !== quote) end += source[end] === backslash ? 2 : 1
  return end
}

/** Removes the backslashes that escape quotes and backslashes. */
function unquoted(source: Buffer, start: number, end: number): ArrayPart {
  if (!source.subarray(start, end).includes(backslash)) return { source, start, end }
  const plain = Buffer.allocUnsafe(end - start)
  let at = 0
  for (let from = start; from < end; from += 1) {
    if (source[from] === backslash) from += 1
    plain[at++] = source[from]!
  }
  return { source: plain, start: 0, end: at }
}

const openBrace = 0x7b
const closeBrace = 0x7d
const comma = 0x2c
const quote = 0x22
const backslash = 0x5c
