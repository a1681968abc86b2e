/** A state of plain data that never changes. An id is a negative number, and `ids` counts those created. */
export type Numbered = Readonly<{ ids: number }>

/**
 * The states reached, as hashes of 64 bits, and how: by which choice from which state. (Among ten million states the
 * chance that any two have the same hash is 1 in 300,000.)
 */
export class SeenStates {
  #slots = new Int32Array(firstSlots)
  #hashes = new Int32Array(firstSlots)
  #origins = new Int32Array(firstSlots / 2)
  #choices = new Uint8Array(firstSlots / 2)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The number of the state if it is new. */
  add(state: Numbered, origin: number, choice: number): number | undefined {
    const [high, low] = hashOf(state)
    const slot = this.#find(high, low)
    if (this.#slots[slot] !== 0) return undefined
    const number = this.#size++
    this.#slots[slot] = number + 1
    this.#hashes[2 * number] = high
    this.#hashes[2 * number + 1] = low
    this.#origins[number] = origin
    this.#choices[number] = choice
    if (2 * this.#size === this.#slots.length) this.#grow()
    return number
  }

  /** The choices that lead from the first state to this one. */
  wayTo(number: number): readonly number[] {
    const choices: number[] = []
    for (let at = number; at !== 0; at = this.#origins[at]!) choices.unshift(this.#choices[at]!)
    return choices
  }

  #find(high: number, low: number): number {
    const mask = this.#slots.length - 1
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]! - 1
      if (number < 0) return slot
      if (this.#hashes[2 * number] === high && this.#hashes[2 * number + 1] === low) return slot
    }
  }

  #grow(): void {
    const length = 2 * this.#slots.length
    this.#hashes = copy(new Int32Array(length), this.#hashes)
    this.#origins = copy(new Int32Array(length / 2), this.#origins)
    this.#choices = copy(new Uint8Array(length / 2), this.#choices)
    this.#slots = new Int32Array(length)
    for (let number = 0; number < this.#size; number++) {
      const slot = this.#find(this.#hashes[2 * number]!, this.#hashes[2 * number + 1]!)
      this.#slots[slot] = number + 1
    }
  }
}

const firstSlots = 1 << 16

function copy<Values extends Int32Array | Uint8Array>(to: Values, from: Values): Values {
  to.set(from)
  return to
}

/** Two states are equal if they differ only in their ids, so ids are numbered in the order they are found. */
function hashOf(state: Numbered): readonly [high: number, low: number] {
  names.fill(0, 0, state.ids + 1)
  lastName = 0
  high = 0x9e3779b9
  low = 0x85ebca6b
  for (const key in state) if (key !== 'ids') walk((state as Record<string, unknown>)[key])
  return [mix(high ^ low), mix(low + Math.imul(high, 31))]
}

const names = new Int32Array(256)
const words = new Map<string, number>()
let lastName = 0
let high = 0
let low = 0

function walk(value: unknown): void {
  if (typeof value === 'number') take(value < 0 ? 1_000 + nameOf(-value) : value)
  else if (value === null) take(2_000)
  else if (typeof value === 'boolean') take(value ? 2_001 : 2_002)
  else if (typeof value === 'string') take(wordOf(value))
  else if (Array.isArray(value)) {
    take(3_000 + value.length)
    for (const each of value) walk(each)
  } else for (const key in value as object) walk((value as Record<string, unknown>)[key])
}

function take(code: number): void {
  high = Math.imul(high ^ code, 0x5bd1e995)
  high ^= high >>> 15
  low = Math.imul(low ^ (code + 0x27d4eb2f), 0x1b873593)
  low ^= low >>> 13
}

function nameOf(id: number): number {
  if (names[id] === 0) names[id] = ++lastName
  return names[id]!
}

function wordOf(text: string): number {
  if (!words.has(text)) words.set(text, 4_000 + words.size)
  return words.get(text)!
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) | 0
}
