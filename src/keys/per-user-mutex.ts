/** Runs `work` when no other work for this user is running. */
export type PerUserMutex = <T>(userId: number, work: () => Promise<T>) => Promise<T>

/**
 * A mutex per user: changes to one user's keys run one after the other. Between processes, the row lock on the user
 * does that. Within a process, requests wait here, so that they do not each hold a connection while they wait.
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
