export type Form = Record<string, string | string[]>

/** Thrown for invalid UTF-8 in a strict field. */
export class NotUtf8 extends Error {}

/**
 * The fields of a form or a query string; several with one name become a list. Lenient like node:querystring: a bare
 * `%` stays, and invalid UTF-8 becomes U+FFFD, except in the field `strict`. Works on bytes for speed, as callers
 * without a key may send long forms.
 */
export function parseForm(bytes: Buffer, strict?: string): Form {
  const form: Form = Object.create(null)
  // Decoding never makes a text longer.
  const room = Buffer.allocUnsafe(bytes.length)
  let count = 0
  for (let start = 0; start < bytes.length && count < maxFields; start += 1) {
    if (bytes[start] === ampersand) continue
    const end = placeOf(ampersand, bytes, start, bytes.length)
    const middle = placeOf(equals, bytes, start, end)
    const name = decode(bytes, start, middle, room).toString('utf8')
    add(form, name, textOf(decode(bytes, middle + 1, end, room), name === strict))
    count++
    start = end
  }
  return form
}

function add(form: Form, name: string, value: string): void {
  const known = form[name]
  if (known === undefined) form[name] = value
  else if (typeof known === 'string') form[name] = [known, value]
  else known.push(value)
}

/** Decodes the escapes of a part of a form. */
export function decodeEscapes(bytes: Buffer): Buffer {
  return decode(bytes, 0, bytes.length, Buffer.allocUnsafe(bytes.length))
}

function placeOf(byte: number, bytes: Buffer, start: number, end: number): number {
  const place = bytes.subarray(start, end).indexOf(byte)
  return place === -1 ? end : start + place
}

function decode(bytes: Buffer, start: number, end: number, room: Buffer): Buffer {
  const encoded = bytes.subarray(start, end)
  if (!encoded.includes(percent) && !encoded.includes(plus)) return encoded
  let length = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!
    const high = byte === percent && at + 2 < end ? hexDigit(bytes[at + 1]!) : -1
    const low = high === -1 ? -1 : hexDigit(bytes[at + 2]!)
    if (low === -1) room[length++] = byte === plus ? space : byte
    else {
      room[length++] = 16 * high + low
      at += 2
    }
  }
  return room.subarray(0, length)
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

function textOf(bytes: Buffer, isStrict: boolean): string {
  if (!isStrict) return bytes.toString('utf8')
  try {
    return strictUtf8.decode(bytes)
  } catch {
    throw new NotUtf8('The bytes are not UTF-8')
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const [space, percent, ampersand, plus, equals] = [32, 37, 38, 43, 61] as const
/** The limit of node:querystring. */
const maxFields = 1_000
