/** An object that a client has sent, not yet checked. */
export type Members = Readonly<Record<string, unknown>>

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** For the text of an error. */
export const shortened = (value: unknown) => String(value).slice(0, 100)
