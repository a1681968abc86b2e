/** Told what a text of JSON has, piece by piece. It may throw to end the reading. */
export interface JsonHandler {
  /** Whether the next string is needed; else it comes as undefined. Names of members always come. */
  readonly wantsText: boolean
  opened(isObject: boolean): void
  closed(): void
  named(name: string): void
  text(text: string | undefined): void
  /** A number, `true`, `false`, `null`, or a number that is none, which many programs write. */
  scalar(text: string): void
  /** A string holds what PostgreSQL cannot store. */
  unstorable(what: string, isName: boolean): never
}

/** Where a text is not JSON. */
export class JsonError extends Error {
  constructor(line: number, character: number, message: string) {
    super(`Line ${line}, character ${character}: ${message}`)
    this.name = 'JsonError'
  }
}

/** What may come next. */
type Expected = 'value' | 'value-or-end' | 'name' | 'name-or-end' | 'colon' | 'comma-or-end'

/**
 * Reads JSON of any length in pieces, one value after the other, without keeping it. Memory: a name, a number, the depth.
 */
export class JsonScanner {
  readonly #handler: JsonHandler
  /** For each open bracket, whether it is an object. */
  readonly #open: boolean[] = []
  #expected: Expected = 'value'
  #line = 1
  #lineStart = 0
  /** Where the chunk begins in the text. */
  #chunkStart = 0
  #scalar = ''
  #string: StringReader | undefined
  #isName = false

  constructor(handler: JsonHandler) {
    this.#handler = handler
  }

  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#string) at = this.#continueString(chunk, at)
      else if (this.#scalar !== '') at = this.#continueScalar(chunk, at)
      else at = this.#next(chunk, at)
    }
    this.#chunkStart += chunk.length
  }

  end(): void {
    if (this.#scalar !== '') this.#endScalar(0)
    if (this.#string || this.#open.length > 0 || this.#expected !== 'value')
      throw this.#error(0, 'the text ends in the middle')
  }

  #next(chunk: Buffer, from: number): number {
    const byte = chunk[from]!
    switch (byte) {
      case LF:
        this.#line++
        this.#lineStart = this.#chunkStart + from + 1
        return from + 1
      case SPACE:
      case TAB:
      case CR:
        return from + 1
      case RECORD_SEPARATOR:
        if (this.#open.length > 0) throw this.#unexpected(byte, from)
        return from + 1
      case COMMA:
        if (this.#expected !== 'comma-or-end' || this.#open.length === 0) throw this.#unexpected(byte, from)
        this.#expected = this.#open.at(-1) ? 'name' : 'value'
        return from + 1
      case COLON:
        if (this.#expected !== 'colon') throw this.#unexpected(byte, from)
        this.#expected = 'value'
        return from + 1
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        this.#openBracket(byte === OPEN_OBJECT, from)
        return from + 1
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        this.#closeBracket(byte === CLOSE_OBJECT, from)
        return from + 1
      case QUOTE:
        return this.#beginString(chunk, from)
      default:
        this.#takeValue(byte, from)
        return this.#continueScalar(chunk, from)
    }
  }

  #takeValue(byte: number, from: number): void {
    if (this.#expected !== 'value' && this.#expected !== 'value-or-end') throw this.#unexpected(byte, from)
  }

  #openBracket(isObject: boolean, from: number): void {
    this.#takeValue(isObject ? OPEN_OBJECT : OPEN_ARRAY, from)
    if (this.#open.length >= maxDepth) throw this.#error(from, `more than ${maxDepth} brackets are open`)
    this.#open.push(isObject)
    this.#expected = isObject ? 'name-or-end' : 'value-or-end'
    this.#handler.opened(isObject)
  }

  #closeBracket(isObject: boolean, from: number): void {
    const expected = this.#expected
    const mayEnd = expected === 'comma-or-end' || expected === 'name-or-end' || expected === 'value-or-end'
    if (!mayEnd || this.#open.at(-1) !== isObject)
      throw this.#unexpected(isObject ? CLOSE_OBJECT : CLOSE_ARRAY, from)
    this.#open.pop()
    this.#valueDone()
    this.#handler.closed()
  }

  #beginString(chunk: Buffer, from: number): number {
    this.#isName = this.#expected === 'name' || this.#expected === 'name-or-end'
    if (!this.#isName) this.#takeValue(QUOTE, from)
    const isWanted = this.#isName || this.#handler.wantsText
    const end = plainEnd(chunk, from + 1)
    if (end < 0) {
      this.#string = new StringReader(isWanted)
      return from + 1
    }
    const isKept = isWanted && end - from <= maxTextBytes
    this.#endString(isKept ? chunk.toString('utf8', from + 1, end) : undefined)
    return end + 1
  }

  #continueString(chunk: Buffer, from: number): number {
    const reader = this.#string!
    const end = reader.read(chunk, from)
    if (reader.fault !== undefined) this.#handler.unstorable(reader.fault, this.#isName)
    if (reader.isBroken) throw this.#error(end, 'a string has an escape that JSON does not know')
    if (!reader.isOver) return end
    this.#string = undefined
    this.#endString(reader.text)
    return end
  }

  #endString(text: string | undefined): void {
    if (this.#isName) {
      this.#expected = 'colon'
      this.#handler.named(text ?? '')
    } else {
      this.#valueDone()
      this.#handler.text(text)
    }
  }

  #continueScalar(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && isScalarByte[chunk[at]!]) at++
    this.#scalar += chunk.toString('latin1', from, at)
    if (this.#scalar.length > maxScalarLength) throw this.#error(from, 'a number is too long')
    if (this.#scalar === '') throw this.#unexpected(chunk[from]!, from)
    if (at < chunk.length) this.#endScalar(at)
    return at
  }

  #endScalar(at: number): void {
    const text = this.#scalar
    if (!scalarPattern.test(text)) throw this.#error(at - text.length, `unexpected '${text.slice(0, 20)}'`)
    this.#scalar = ''
    this.#valueDone()
    this.#handler.scalar(text)
  }

  #valueDone(): void {
    this.#expected = this.#open.length === 0 ? 'value' : 'comma-or-end'
  }

  #unexpected(byte: number, at: number): JsonError {
    const isShown = byte > SPACE && byte < 127
    return this.#error(at, isShown ? `unexpected '${String.fromCharCode(byte)}'` : 'unexpected character')
  }

  #error(at: number, message: string): JsonError {
    return new JsonError(this.#line, Math.max(0, this.#chunkStart + at - this.#lineStart) + 1, message)
  }
}

/** Where a string ends; -1: in another chunk, or it has escapes, or a NUL. */
function plainEnd(chunk: Buffer, from: number): number {
  for (let at = from; at < chunk.length; at++) {
    const byte = chunk[at]!
    if (byte === QUOTE) return at
    if (byte === BACKSLASH || byte === 0) return -1
  }
  return -1
}

/** Reads one string to its closing quote. */
class StringReader {
  isOver = false
  isBroken = false
  /** What PostgreSQL cannot store. */
  fault: string | undefined
  #kept: Buffer[] | undefined
  #keptBytes = 0
  /** An escape that has begun: '', or `\`, or `\u` with up to 3 digits. */
  #escape = ''
  /** The first half of a surrogate pair was read. */
  #isHalf = false

  constructor(isKept: boolean) {
    this.#kept = isKept ? [] : undefined
  }

  /** Undefined: not wanted, or too long. */
  get text(): string | undefined {
    if (!this.#kept || this.#keptBytes > maxTextBytes) return undefined
    const json = Buffer.concat(this.#kept).toString('utf8')
    try {
      return JSON.parse(`"${json}"`) as string
    } catch {
      return json
    }
  }

  /** Returns where it stopped. */
  read(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && !this.isOver && this.fault === undefined && !this.isBroken) {
      const byte = chunk[at]!
      if (this.#escape !== '') this.#readEscape(byte)
      else if (byte === BACKSLASH) this.#escape = '\\'
      else if (this.#isHalf) this.fault = halfCharacter
      else if (byte === QUOTE) this.isOver = true
      else if (byte === 0) this.fault = nul
      at++
    }
    if (this.#kept) this.#keep(chunk.subarray(from, this.isOver ? at - 1 : at))
    return at
  }

  #readEscape(byte: number): void {
    this.#escape += String.fromCharCode(byte)
    if (this.#escape.length === 2 && byte !== LETTER_U) {
      if (this.#isHalf) this.fault = halfCharacter
      this.isBroken = !'"\\/bfnrt'.includes(this.#escape[1]!)
      this.#escape = ''
    } else if (this.#escape.length === 6) {
      this.#readUnit(this.#escape.slice(2))
      this.#escape = ''
    }
  }

  #readUnit(hex: string): void {
    if (!/^[0-9a-f]{4}$/i.test(hex)) {
      this.isBroken = true
      return
    }
    const unit = Number.parseInt(hex, 16)
    const isSecond = unit >= 0xdc00 && unit <= 0xdfff
    if (unit === 0) this.fault = nul
    else if (this.#isHalf !== isSecond) this.fault = halfCharacter
    this.#isHalf = unit >= 0xd800 && unit <= 0xdbff
  }

  #keep(bytes: Buffer): void {
    this.#keptBytes += bytes.length
    if (this.#keptBytes <= maxTextBytes) this.#kept!.push(Buffer.from(bytes))
  }
}

const nul = 'a NUL character'
const halfCharacter = 'half of a character (a lone surrogate)'

/** The length of names, and of the texts that the caller wants. */
const maxTextBytes = 1_024
const maxScalarLength = 4_096
/** The depth that GDAL reads. */
const maxDepth = 1_000

const scalarPattern = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|nan|-?Infinity)$/

const isScalarByte = new Uint8Array(256)
for (const character of '+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')
  isScalarByte[character.charCodeAt(0)] = 1

const TAB = 9
const LF = 10
const CR = 13
const RECORD_SEPARATOR = 0x1e
const SPACE = 32
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const LETTER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
