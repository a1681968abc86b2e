import { ConfigError } from '../config-variables.ts'
import { ClusterError } from '../postgres/cluster/cluster-error.ts'
import { toClientError } from '../postgres/wire/wire-error.ts'
import { explainFile, isFileTrouble } from './file-trouble.ts'

/** What a person at a terminal gets, the sentence first; undefined if the error is a bug, to be shown whole. */
export function explainError(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof ClusterError) return error.message
  const trouble = error as NodeJS.ErrnoException
  // Its own text holds the whole address, and with it the password.
  if (trouble?.code === 'ERR_INVALID_URL') return 'the address that was given is not a URL'
  if (isFileTrouble(error)) return explainFile(error)
  return explainDatabase(error)
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
