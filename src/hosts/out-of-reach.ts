import { AppError } from '../errors.ts'
import { isConnectionLoss } from '../postgres/sqlstate.ts'

/** A host does not answer: what lives there has to wait. */
export function isOutOfReach(error: unknown): boolean {
  return (error instanceof AppError && error.kind === 'unavailable') || isConnectionLoss(error)
}
