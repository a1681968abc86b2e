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

/** Throws if it is nested so deeply that reading it could overflow the stack. */
export function requireShallow(value: unknown): void {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) throw errors.mapInvalid(`The config is nested deeper than ${deepest} levels`)
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
}

const deepest = 100
