import type { WireError } from '../postgres/wire/wire-error.ts'

/** The notices of statements, by severity. Bounded: a loop may raise a million of them. */
export class Notices {
  #byKind: Map<string, string[]> | undefined
  #characters = 0

  get byKind(): ReadonlyMap<string, readonly string[]> {
    return this.#byKind ?? none
  }

  /** False if there are too many already. */
  add({ severity, message }: Pick<WireError, 'severity' | 'message'>): boolean {
    this.#characters += message.length
    if (this.#characters > maxCharacters) return false
    const kind = `${severity.toLowerCase()}s`
    this.#byKind ??= new Map()
    const messages = this.#byKind.get(kind) ?? []
    const hasRoom = messages.length < maxMessages
    if (hasRoom) messages.push(message)
    this.#byKind.set(kind, messages)
    return hasRoom
  }
}

/** Most answers have none. */
const none: ReadonlyMap<string, readonly string[]> = new Map()

const maxCharacters = 1024 * 1024
const maxMessages = 1000
