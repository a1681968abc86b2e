import type { WireError } from '../postgres/wire/wire-error.ts'

/** The notices of statements, by severity. Bounded: a loop may raise a million of them. */
export class Notices {
  #byKind: Map<string, string[]> | undefined
  #characters = 0

  get byKind(): ReadonlyMap<string, readonly string[]> {
    return this.#byKind ?? none
  }

  add({ severity, message }: Pick<WireError, 'severity' | 'message'>): void {
    this.#characters += message.length
    if (this.#characters > maxCharacters) return
    const kind = `${severity.toLowerCase()}s`
    this.#byKind ??= new Map()
    const messages = this.#byKind.get(kind) ?? []
    if (messages.length < maxMessages) messages.push(message)
    this.#byKind.set(kind, messages)
  }
}

/** Most answers have none. */
const none: ReadonlyMap<string, readonly string[]> = new Map()

const maxCharacters = 1024 * 1024
const maxMessages = 1000
