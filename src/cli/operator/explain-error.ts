import { ConfigError } from '../../config/config-variables.ts'
import { ClusterError } from '../../postgres/cluster/cluster-error.ts'
import { isDiskFull } from '../../postgres/sqlstate.ts'
import { toClientError } from '../../postgres/wire/wire-error.ts'
import { type CommandFailure, failureOf } from '../command-error.ts'
import { explainFileError, isFileError } from '../file-error.ts'
import { tell } from '../terminal.ts'

/** Writes a message of the service to stderr. */
export const talk = (text: string) => tell(`cartage: ${text}`)

export function explainOperatorFailure(error: unknown): CommandFailure | undefined {
  const failure = failureOf(error, (other) => {
    const message = explainError(other)
    return message === undefined ? undefined : { message, exitCode: 1 }
  })
  return failure && { ...failure, message: `cartage: ${failure.message}` }
}

/** The message for a person at a terminal; undefined if the error is a bug. */
export function explainError(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof ClusterError) return error.message
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  // The message of Node has the whole address, with the password.
  if (code === 'ERR_INVALID_URL') return 'the address that was given is not a URL'
  if (isFileError(error)) return explainFileError(error)
  return explainDatabaseError(error)
}

function explainDatabaseError(error: unknown): string | undefined {
  try {
    const { message, cause, extras } = toClientError(error)
    const hint = extras.hint ? `\n  hint: ${extras.hint}` : ''
    const reason = cause instanceof Error ? cause : (error as Error)
    if (isDiskFull(reason)) return `the disk of the database is full: make room there (${reason.message})`
    const hasReason = cause instanceof Error && cause.message !== '' && cause.message !== message
    return hasReason ? `${message} (${cause.message})${hint}` : `${message}${hint}`
  } catch {
    return undefined
  }
}
