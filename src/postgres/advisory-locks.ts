/** Every advisory lock of the service, so that no two uses share a number. */
export const advisoryLocks = {
  /** With the hash of the name of a database or role: whoever makes or removes it. */
  name: 7238003,
  /** With the id of a user or organization: whoever makes or removes it. */
  user: 7238004,
  organization: 7238005,
  /** Shared, held by every process for as long as it listens for changes of accounts. */
  process: 7238007,
  /** One worker claims at a time. It is taken in `cartage.claim_jobs`. */
  claim: 7238010,
  /** With the id of a worker: held for as long as it is alive. */
  worker: 7238011,
  /** With the hash of a database's name: one repair of its logins at a time. */
  login: 7238020,
} as const
