/**
 * Unpacks a file of the LZMA format (13 bytes of header, then the stream). Throws on anything else, and as soon as the result is
 * longer than `most` bytes.
 */
export function unpackLzma(packed: Uint8Array, most: number): Uint8Array {
  if (packed.length < 18) throw new Error('too short')
  const property = packed[0]!
  // Others take megabytes of memory.
  if (property >= 9 * 5 * 5 || (property % 9) + (Math.floor(property / 9) % 5) > 4)
    throw new Error('unknown properties')
  const header = new DataView(packed.buffer, packed.byteOffset, headerBytes)
  const size = header.getBigUint64(5, true)
  const isEndless = size === unknownSize
  if (!isEndless && size > BigInt(most)) throw tooLong()
  const bytes = new Uint8Array(isEndless ? most : Number(size))
  const stream = new Stream(new Bits(packed, headerBytes), bytes, property)
  while (isEndless || stream.length < bytes.length) {
    if (stream.step()) continue
    if (!isEndless) throw new Error('ended too early')
    break
  }
  return bytes.subarray(0, stream.length)
}

const headerBytes = 13
const unknownSize = 2n ** 64n - 1n
const tooLong = () => new Error('too long')

/** Probabilities that a bit is 0, in 1/2048. */
const evenly = (count: number) => new Uint16Array(count).fill(1_024)

/** The range coder: each bit takes as many bits of the input as it is unlikely. */
class Bits {
  readonly #bytes: Uint8Array
  #at: number
  #range = 0xffffffff
  #code = 0

  constructor(bytes: Uint8Array, start: number) {
    this.#bytes = bytes
    this.#at = start + 5
    if (bytes[start] !== 0) throw new Error('no stream')
    for (const byte of bytes.subarray(start + 1, start + 5)) this.#code = this.#code * 256 + byte
  }

  bit(chances: Uint16Array, at: number): 0 | 1 {
    const chance = chances[at]!
    const bound = (this.#range >>> 11) * chance
    const bit = this.#code < bound ? 0 : 1
    if (bit === 0) {
      this.#range = bound
      chances[at] = chance + ((2_048 - chance) >>> 5)
    } else {
      this.#range -= bound
      this.#code -= bound
      chances[at] = chance - (chance >>> 5)
    }
    this.#refill()
    return bit
  }

  /** A number whose bits are as likely 0 as 1. */
  plain(count: number): number {
    let number = 0
    for (let left = count; left > 0; left -= 1) {
      this.#range >>>= 1
      const bit = this.#code < this.#range ? 0 : 1
      this.#code -= bit * this.#range
      number = number * 2 + bit
      this.#refill()
    }
    return number
  }

  /** A number, whose highest bit comes first. The chances of a bit depend on those before it. */
  tree(chances: Uint16Array, count: number, from = 0): number {
    let node = 1
    for (let left = count; left > 0; left -= 1) node = node * 2 + this.bit(chances, from + node)
    return node - 2 ** count
  }

  /** The same with the lowest bit first. */
  reversedTree(chances: Uint16Array, count: number, from = 0): number {
    let node = 1
    let number = 0
    for (let place = 0; place < count; place += 1) {
      const bit = this.bit(chances, from + node)
      node = node * 2 + bit
      number += bit * 2 ** place
    }
    return number
  }

  #refill(): void {
    if (this.#range >= 2 ** 24) return
    if (this.#at >= this.#bytes.length) throw new Error('ended too early')
    this.#range = (this.#range * 256) >>> 0
    this.#code = this.#code * 256 + this.#bytes[this.#at]!
    this.#at += 1
  }
}

/** Lengths of matches, less the shortest one. */
class Lengths {
  readonly #choices = evenly(2)
  readonly #low = evenly(16 * 8)
  readonly #middle = evenly(16 * 8)
  readonly #high = evenly(256)

  read(bits: Bits, position: number): number {
    if (bits.bit(this.#choices, 0) === 0) return bits.tree(this.#low, 3, position * 8)
    if (bits.bit(this.#choices, 1) === 0) return 8 + bits.tree(this.#middle, 3, position * 8)
    return 16 + bits.tree(this.#high, 8)
  }
}

/** Bytes and matches: copies of bytes before. The state (0 to 11) tells which of them came last; from 7 on it was a match. */
class Stream {
  readonly #bits: Bits
  readonly #bytes: Uint8Array
  readonly #contextBits: number
  readonly #placeBits: number
  readonly #positions: number
  #state = 0
  /** Of the last four matches, less 1. */
  #distances: readonly [number, number, number, number] = [0, 0, 0, 0]
  length = 0

  readonly #isMatch = evenly(12 * 16)
  readonly #isRepeated = evenly(12)
  readonly #isOlder = [evenly(12), evenly(12), evenly(12)] as const
  readonly #isLong = evenly(12 * 16)
  readonly #literals: Uint16Array
  readonly #slots = evenly(4 * 64)
  readonly #nearBits = evenly(115)
  readonly #lowBits = evenly(16)
  readonly #lengths = new Lengths()
  readonly #repeatedLengths = new Lengths()

  /** `property`: the first byte of the header. */
  constructor(bits: Bits, bytes: Uint8Array, property: number) {
    this.#bits = bits
    this.#bytes = bytes
    this.#contextBits = property % 9
    this.#placeBits = Math.floor(property / 9) % 5
    this.#positions = 2 ** Math.floor(property / 45)
    this.#literals = evenly(0x300 * 2 ** (this.#contextBits + this.#placeBits))
  }

  /** Reads a byte or a match. False: the stream has ended. */
  step(): boolean {
    const position = this.length % this.#positions
    const bits = this.#bits
    if (bits.bit(this.#isMatch, this.#state * 16 + position) === 0) {
      this.#put(this.#literal())
      this.#state = this.#state < 4 ? 0 : this.#state - (this.#state < 10 ? 3 : 6)
      return true
    }
    const wasMatch = this.#state >= 7
    if (bits.bit(this.#isRepeated, this.#state) === 1) {
      if (this.#choose(position)) {
        const length = this.#repeatedLengths.read(bits, position)
        this.#state = wasMatch ? 11 : 8
        this.#copy(length + 2)
      } else {
        this.#state = wasMatch ? 11 : 9
        this.#copy(1)
      }
      return true
    }
    const length = this.#lengths.read(bits, position)
    this.#state = wasMatch ? 10 : 7
    const distance = this.#distance(Math.min(length, 3))
    const [first, second, third] = this.#distances
    this.#distances = [distance, first, second, third]
    if (distance === 0xffffffff) return false
    this.#copy(length + 2)
    return true
  }

  #literal(): number {
    const before = this.length === 0 ? 0 : this.#bytes[this.length - 1]!
    const place = this.length % 2 ** this.#placeBits
    const from = 0x300 * (place * 2 ** this.#contextBits + (before >> (8 - this.#contextBits)))
    let node = 1
    // After a match the byte that would have continued it is not likely.
    let expected = this.#state >= 7 ? this.#byteAt(this.#distances[0]) : undefined
    while (node < 256) {
      if (expected === undefined) {
        node = node * 2 + this.#bits.bit(this.#literals, from + node)
        continue
      }
      const guess = expected >> 7
      expected = (expected << 1) & 0xff
      const bit = this.#bits.bit(this.#literals, from + (1 + guess) * 256 + node)
      node = node * 2 + bit
      if (bit !== guess) expected = undefined
    }
    return node - 256
  }

  /** Puts one of the last four distances first. False: it is the last one, for a single byte. */
  #choose(position: number): boolean {
    const bits = this.#bits
    const [first, second, third, fourth] = this.#distances
    const [isSecond, isThird, isFourth] = this.#isOlder
    if (bits.bit(isSecond, this.#state) === 0)
      return bits.bit(this.#isLong, this.#state * 16 + position) === 1
    if (bits.bit(isThird, this.#state) === 0) this.#distances = [second, first, third, fourth]
    else if (bits.bit(isFourth, this.#state) === 0) this.#distances = [third, first, second, fourth]
    else this.#distances = [fourth, first, second, third]
    return true
  }

  /** `group`: by the length of the match. */
  #distance(group: number): number {
    const bits = this.#bits
    const slot = bits.tree(this.#slots, 6, group * 64)
    if (slot < 4) return slot
    const count = (slot >> 1) - 1
    const base = (2 + (slot & 1)) * 2 ** count
    if (slot < 14) return base + bits.reversedTree(this.#nearBits, count, base - slot)
    return base + bits.plain(count - 4) * 16 + bits.reversedTree(this.#lowBits, 4)
  }

  #copy(count: number): void {
    for (let left = count; left > 0; left -= 1) this.#put(this.#byteAt(this.#distances[0]))
  }

  #byteAt(distance: number): number {
    if (distance >= this.length) throw new Error('a match before the beginning')
    return this.#bytes[this.length - 1 - distance]!
  }

  #put(byte: number): void {
    if (this.length >= this.#bytes.length) throw tooLong()
    this.#bytes[this.length] = byte
    this.length += 1
  }
}
