import { AppError } from '../errors.ts'
import { isConnectionLoss } from '../postgres/sqlstate.ts'

/** The host does not answer: its tenants must wait. */
export function isOutOfReach(error: unknown): boolean {
  return (error instanceof AppError && error.kind === 'unavailable') || isConnectionLoss(error)
}
