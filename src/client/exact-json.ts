import { LosslessNumber, parse, stringify } from 'lossless-json'

/** A number whose text no double gives back, such as `1.50`: `toString()` has it, and arithmetic takes its value. */
export { LosslessNumber as ExactNumber }

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
  const mayDiffer = numbers === 'string' ? /[-\d]/ : mayChange
  return (text) => (mayDiffer.test(text) ? parse(text, null, readNumber) : JSON.parse(text))
}

/** Writes every number as it was read. */
export function stringifyExact(value: unknown): string {
  return stringify(value) ?? 'null'
}

/** The shape of all numbers that a double may change, so that the slower parser is used only if there can be one. */
const mayChange = /\d[\d.]{15}|\.\d*0(?!\d)|\d[eE]|-0(?!\.)|0\.0{6}/

const numberReaders = {
  exact: (text: string) => {
    const number = Number(text)
    if (String(number) === text) return number
    return isInteger(text) ? BigInt(text) : new LosslessNumber(text)
  },
  bigint: (text: string) => {
    const number = Number(text)
    return isInteger(text) && !Number.isSafeInteger(number) ? BigInt(text) : number
  },
  string: (text: string) => text,
} as const

const isInteger = (text: string) => /^-?[1-9]\d*$/.test(text)
