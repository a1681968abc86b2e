import { LosslessNumber, parse, stringify } from 'lossless-json'
import { firstChangedNumber, keepsDigits, putChangedNumbers } from './changed-numbers.ts'

/** A number whose text no double gives back, such as `1.50`: `toString()` has it, and arithmetic takes its value. */
export type ExactNumber = Readonly<{ value: string; valueOf: () => number | bigint; toString: () => string }>
/** Its type names no library: the types of the client must do without one. */
export const ExactNumber: new (value: string) => ExactNumber = LosslessNumber

/**
 * What the numbers of an answer become. `exact`: a `number` where that writes the same digits, a `bigint` for a longer
 * integer, an `ExactNumber` for anything else. `bigint`: a `bigint` for an integer that a double would change, else a `number`,
 * rounded if need be. `string`: the digits as text. `number`: always a `number`, as with JSON.parse.
 */
export type Numbers = 'exact' | 'bigint' | 'string' | 'number'

/** Reads JSON without changing a number: see `exact` of Numbers. */
export function parseExact(text: string): unknown {
  return jsonReader('exact')(text)
}

/** Answers how to read JSON so that its numbers become what was chosen. */
export function jsonReader(numbers: Numbers): (text: string) => unknown {
  if (numbers === 'number') return JSON.parse
  const readNumber = numberReaders[numbers]
  const isKept = numbers === 'string' ? never : keepsDigits
  return (text) => {
    const document: unknown = JSON.parse(text)
    const first = firstChangedNumber(text, readNumber, isKept)
    if (first === -1) return document
    const root = [document]
    if (putChangedNumbers(root, text, first, readNumber, isKept)) return root[0]
    return parse(text, null, { parseNumber: readNumber, onDuplicateKey: lastOne })
  }
}

/** Writes every number as it was read. */
export function stringifyExact(value: unknown): string {
  return stringify(value) ?? 'null'
}

/** As for JSON.parse. */
const lastOne = ({ newValue }: { newValue: unknown }) => newValue

const never = () => false

const numberReaders = {
  exact: (text: string) => {
    const number = Number(text)
    // Quicker than String, which puts every number into a cache.
    if (JSON.stringify(number) === text) return number
    return isInteger(text) ? BigInt(text) : new LosslessNumber(text)
  },
  bigint: (text: string) => {
    const number = Number(text)
    return isInteger(text) && !Number.isSafeInteger(number) ? BigInt(text) : number
  },
  string: (text: string) => text,
} as const

const isInteger = (text: string) => /^-?[1-9]\d*$/.test(text)
