import { AppError, errors } from '../../errors.ts'

/** The setting by which PostgreSQL tells, at login and when it changes, that it follows another server. No client can set it. */
export const isStandbyStatus = (name: string, value: string) => name === 'in_hot_standby' && value === 'on'

/** A connection to a standby counts as none: it takes no writes, and what it shows may be old. */
export const standbyRefused = () => errors.databaseUnavailable(new StandbyError())

/** The server that answered is a standby. */
export function isStandby(error: unknown): boolean {
  return error instanceof AppError && error.cause instanceof StandbyError
}

class StandbyError extends Error {
  override readonly name = 'StandbyError'

  constructor() {
    super('the server is a standby')
  }
}
