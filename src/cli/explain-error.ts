import { CartageError } from '../client/cartage-error.ts'
import { ConfigError } from '../config-variables.ts'
import { ClusterError } from '../postgres/cluster/cluster-error.ts'
import { toClientError } from '../postgres/wire/wire-error.ts'

/** What a person at a terminal gets, the sentence first; undefined if the error is a bug, to be shown whole. */
export function explainError(error: unknown): string | undefined {
  if (error instanceof CartageError) return explainRefusal(error)
  if (error instanceof ConfigError || error instanceof ClusterError) return error.message
  const trouble = error as NodeJS.ErrnoException & { port?: number }
  if (trouble?.syscall === 'listen') return explainListening(trouble)
  // Its own text holds the whole address, and with it the password.
  if (trouble?.code === 'ERR_INVALID_URL') return 'the address that was given is not a URL'
  if (isFileTrouble(error)) return error.message
  return explainDatabase(error)
}

/** Remembers the statement that an error is about, so that its place can be shown. */
export async function withStatement<T>(statement: string, answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    if (error instanceof CartageError) statements.set(error, statement)
    throw error
  })
}

const statements = new WeakMap<CartageError, string>()

/** A file that a person named and that is not there, or not ours to read. */
export function isFileTrouble(error: unknown): error is Error {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  return path !== undefined && typeof code === 'string' && /^E[A-Z]+$/.test(code)
}

function explainRefusal(error: CartageError): string {
  const { detail, hint, context, position } = error.body
  return [
    error.message,
    ...placeIn(statements.get(error), position),
    ...Object.entries({ detail, hint, context })
      .filter(([, text]) => typeof text === 'string' && text !== '')
      .map(([name, text]) => `  ${name}: ${text}`),
  ].join('\n')
}

/** The line of the statement, and a mark below the character that PostgreSQL names. */
function placeIn(statement: string | undefined, position: unknown): readonly string[] {
  if (statement === undefined || typeof position !== 'number' || position < 1) return []
  const before = [...statement].slice(0, position - 1).join('')
  const number = before.split('\n').length
  const column = [...(before.split('\n').at(-1) ?? '')].length
  const label = `  line ${number}: `
  return [`${label}${statement.split('\n')[number - 1]}`, `${' '.repeat(label.length + column)}^`]
}

function explainListening({ code, message, port }: NodeJS.ErrnoException & { port?: number }): string {
  return code === 'EADDRINUSE'
    ? `port ${port} is in use by another program: set CARTAGE_PORT to a free one`
    : message
}

function explainDatabase(error: unknown): string | undefined {
  try {
    const { message, cause, extras } = toClientError(error)
    const hint = extras.hint ? `\n  hint: ${extras.hint}` : ''
    const hasReason = cause instanceof Error && cause.message !== '' && cause.message !== message
    return hasReason ? `${message} (${cause.message})${hint}` : `${message}${hint}`
  } catch {
    return undefined
  }
}
