import { AppError, errors } from '../../errors.ts'

/** The setting by which PostgreSQL reports, at login and on changes, that it is a standby. Clients cannot set it. */
export const standbyStatus = 'in_hot_standby'

/** A connection to a standby is refused: it takes no writes, and its data may be old. */
export const standbyRefused = () => errors.databaseUnavailable(new StandbyError())

/** True if the server that answered is a standby. */
export function isStandby(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof StandbyError
}

/** The server of a replica was promoted: it may take writes that its former primary does not have. */
export const promotedRefused = () =>
  errors.databaseUnavailable(new PromotedError('the server of a replica is no standby'))

/** True if the server that answered should be a standby, and is none. */
export function isPromoted(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof PromotedError
}

class PromotedError extends Error {
  override readonly name = 'PromotedError'
}

class StandbyError extends Error {
  override readonly name = 'StandbyError'

  constructor() {
    super('the server is a standby')
  }
}
