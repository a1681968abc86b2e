/**
 * Runs what is done to the keys of one user one after the other. The database sees to that between processes; within
 * one, a crowd of requests should wait here and not each with a connection in hand.
 */
export function createTurns(): <T>(userId: number, work: () => Promise<T>) => Promise<T> {
  const last = new Map<number, Promise<unknown>>()
  return (userId, work) => {
    const mine = (last.get(userId) ?? Promise.resolve()).then(work, work)
    last.set(userId, mine)
    const leave = () => {
      if (last.get(userId) === mine) last.delete(userId)
    }
    mine.then(leave, leave)
    return mine
  }
}
