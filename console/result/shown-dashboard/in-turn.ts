/** The limit of parts read at once: an account has few connections. */
const mostAtOnce = 4

const waiting: (() => void)[] = []
let running = 0

/** Runs the work when fewer than four others run. Throws without running it if it is no longer wanted. */
export async function inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (running < mostAtOnce) running++
  else await new Promise<void>((resolve) => waiting.push(resolve))
  try {
    signal.throwIfAborted()
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}
