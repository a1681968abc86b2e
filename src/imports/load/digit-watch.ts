/**
 * Finds columns of floating point numbers that GDAL has cut: it writes 15 digits, and a number has up to 17. A number with 15
 * digits may be one of those; one with more tells that this GDAL writes all.
 */
export class DigitWatch {
  /** By the place of the column: the most digits seen; -1: not watched. */
  readonly #most: Int8Array
  #column = 0
  #digits = 0
  /** Zeros before the first digit do not count, nor does what follows an exponent. */
  #isCounting = true
  #isEscaped = false
  readonly #isIdle: boolean

  /** `isWatched`: for each column of the rows. */
  constructor(isWatched: readonly boolean[]) {
    this.#most = Int8Array.from(isWatched, (is) => (is ? 0 : -1))
    this.#isIdle = !isWatched.includes(true)
  }

  /** Rows in COPY's text format. */
  push(bytes: Uint8Array): void {
    if (this.#isIdle) return
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === tab || byte === lineEnd) this.#endValue(byte === lineEnd)
      else if (byte === backslash) this.#isEscaped = true
      else if (this.#isCounting && byte >= zero && byte <= nine) {
        if (this.#digits > 0 || byte > zero) this.#digits += 1
      } else if (byte > nine) this.#isCounting = false
    }
  }

  #endValue(isRowEnd: boolean): void {
    const most = this.#most[this.#column]
    if (most !== undefined && most >= 0 && this.#digits > most)
      this.#most[this.#column] = Math.min(this.#digits, 100)
    this.#column = isRowEnd ? 0 : this.#column + 1
    this.#digits = 0
    this.#isCounting = true
  }

  /** The places of the columns. */
  get cut(): readonly number[] {
    return [...this.#most.keys()].filter((place) => this.#most[place] === writtenDigits)
  }
}

/** How many digits GDAL writes. */
const writtenDigits = 15

const [tab, lineEnd, backslash, zero, nine] = [9, 10, 92, 48, 57] as const
