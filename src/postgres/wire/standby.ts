import { AppError, errors } from '../../errors.ts'

/** The setting by which PostgreSQL reports, at login and on changes, that it is a standby. Clients cannot set it. */
export const isStandbyStatus = (name: string, value: string) => name === 'in_hot_standby' && value === 'on'

/** A connection to a standby is refused: it takes no writes, and its data may be old. */
export const standbyRefused = () => errors.databaseUnavailable(new StandbyError())

/** True if the server that answered is a standby. */
export function isStandby(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof StandbyError
}

class StandbyError extends Error {
  override readonly name = 'StandbyError'

  constructor() {
    super('the server is a standby')
  }
}
