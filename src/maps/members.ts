import { errors } from '../errors.ts'

/** An object that a client has sent, not yet checked. */
export type Members = Readonly<Record<string, unknown>>

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** For the text of an error. An object may have a toString of its own, which is no function. */
export function shortened(value: unknown): string {
  if (Array.isArray(value)) return value.slice(0, 20).map(shortened).join(',').slice(0, 100)
  return (typeof value === 'object' && value !== null ? 'an object' : String(value)).slice(0, 100)
}

/** The JSON text of a config. Throws if it is longer than `most`, or so deep that reading it could overflow the stack. */
export function textOfConfig(value: unknown, most: number): string {
  const text = jsonOf(value)
  if (text.length > most) throw errors.mapInvalid(`The map config is longer than ${most} characters`)
  let depth = 0
  // Strings, and brackets outside of them.
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (part === '[' || part === '{') depth += 1
    else if (part === ']' || part === '}') depth -= 1
    if (depth > deepest) throw tooDeep()
  }
  return text
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep()
    throw error
  }
}

const tooDeep = () => errors.mapInvalid(`The config is nested deeper than ${deepest} levels`)
const deepest = 100
