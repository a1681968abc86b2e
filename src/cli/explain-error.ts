import { CartageError } from '../client/cartage-error.ts'
import { ConfigError } from '../config.ts'
import { ClusterError } from '../postgres/cluster/cluster-error.ts'
import { toClientError } from '../postgres/wire-error.ts'

/** The sentence that a person at a terminal gets; undefined if the error is a bug, to be shown whole. */
export function explainError(error: unknown): string | undefined {
  if ([ConfigError, ClusterError, CartageError].some((known) => error instanceof known))
    return (error as Error).message
  if (isFileTrouble(error)) return error.message
  try {
    const { message, cause } = toClientError(error)
    return cause instanceof Error && cause.message !== message ? `${message} (${cause.message})` : message
  } catch {
    return undefined
  }
}

/** A file that a person named and that is not there, or not ours to read. */
function isFileTrouble(error: unknown): error is Error {
  return ['ENOENT', 'EACCES', 'EISDIR', 'ENOSPC'].includes((error as NodeJS.ErrnoException)?.code ?? '')
}
