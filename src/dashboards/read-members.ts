import { isJsonObject, type JsonObject, unknownMember } from '../contract/text/json-object.ts'
import { type AppError, errors } from '../errors.ts'

/** The checks of a document that a client sent. Each names the place of what is wrong: `parts[2].w`. */

export const invalid = (text: string): AppError => errors.dashboardInvalid(text)

export function membersAt(value: unknown, place: string): JsonObject {
  if (isJsonObject(value)) return value
  throw invalid(`${place} must be an object`)
}

export function refuseUnknown(given: JsonObject, known: readonly string[], what: string): void {
  const unknown = unknownMember(given, known)
  if (unknown !== undefined) throw invalid(`${what} has no member '${unknown.slice(0, 100)}'`)
}

export function listOf(value: unknown, place: string, most: number): readonly unknown[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw invalid(`${place} must be a list`)
  if (value.length > most) throw invalid(`${place} has more than ${most} entries`)
  return value
}

export function textAt(value: unknown, place: string, most: number): string {
  if (typeof value === 'string' && value.length <= most) return value
  throw invalid(`${place} must be a text of at most ${most} characters`)
}

export function wholeAt(value: unknown, place: string, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  throw invalid(`${place} must be a whole number from ${least} to ${most}`)
}

export function choiceAt<T extends string>(value: unknown, place: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === value)
  if (found !== undefined) return found
  throw invalid(`${place} must be one of ${choices.join(', ')}`)
}
