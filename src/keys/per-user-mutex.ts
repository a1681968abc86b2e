/** Runs `work` when nobody else is at work for this user. */
export type PerUserMutex = <T>(userId: number, work: () => Promise<T>) => Promise<T>

/**
 * A mutex for each user: changes to the keys of one user run one after the other. Between processes the row lock on the
 * user does that. Within one process the requests wait here, so that they do not each hold a connection while they wait.
 */
export function createPerUserMutex(): PerUserMutex {
  const last = new Map<number, Promise<unknown>>()
  return (userId, work) => {
    const run = (last.get(userId) ?? Promise.resolve()).then(work, work)
    last.set(userId, run)
    const forget = () => {
      if (last.get(userId) === run) last.delete(userId)
    }
    run.then(forget, forget)
    return run
  }
}
