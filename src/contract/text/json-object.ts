/** An object that a client has sent, not yet checked. */
export type JsonObject = Readonly<Record<string, unknown>>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The first member that is not known. */
export const unknownMember = (given: JsonObject, known: readonly string[]): string | undefined =>
  Object.keys(given).find((name) => !known.includes(name))
