import { LosslessNumber, parse, stringify } from 'lossless-json'

/** A number whose text no double gives back, such as `1.50`: `toString()` has it, and arithmetic takes its value. */
export { LosslessNumber as ExactNumber }

/**
 * Reads JSON without changing a number: one that comes back from a double as it was written is a `number`, a longer integer
 * a `bigint`, anything else an `ExactNumber`.
 */
export function parseExact(text: string): unknown {
  return mayChange.test(text) ? parse(text, null, exactNumber) : JSON.parse(text)
}

/** Writes every number as it was read. */
export function stringifyExact(value: unknown): string {
  return stringify(value) ?? 'null'
}

/** The shape of all numbers that a double may change, so that the slower parser is used only if there can be one. */
const mayChange = /\d[\d.]{15}|\.\d*0(?!\d)|\d[eE]|-0(?!\.)|0\.0{6}/

function exactNumber(text: string): unknown {
  const number = Number(text)
  if (String(number) === text) return number
  return /^-?[1-9]\d*$/.test(text) ? BigInt(text) : new LosslessNumber(text)
}
