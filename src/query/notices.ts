import type { WireError } from '../postgres/wire/wire-error.ts'

/** The messages that statements send along, by kind. A loop that raises a million of them fills no memory. */
export class Notices {
  readonly byKind = new Map<string, string[]>()
  #characters = 0

  add({ severity, message }: Pick<WireError, 'severity' | 'message'>): void {
    this.#characters += message.length
    if (this.#characters > maxCharacters) return
    const kind = `${severity.toLowerCase()}s`
    const messages = this.byKind.get(kind) ?? []
    if (messages.length < maxMessages) messages.push(message)
    this.byKind.set(kind, messages)
  }
}

const maxCharacters = 1024 * 1024
const maxMessages = 1000
