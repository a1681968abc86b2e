import { ConfigError } from '../config.ts'
import { ClusterError } from '../postgres/cluster/cluster-error.ts'
import { toClientError } from '../postgres/wire-error.ts'

/** The sentence that a person at a terminal gets; undefined if the error is a bug, to be shown whole. */
export function explainError(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof ClusterError) return error.message
  try {
    const { message, cause } = toClientError(error)
    return cause instanceof Error && cause.message !== message ? `${message} (${cause.message})` : message
  } catch {
    return undefined
  }
}
