/** The person pressed Ctrl-C, or the process was told to end: exit code 130. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted')
  }
}

/** Runs `work` until it is done or the process is told to stop; the second signal ends the process at once. */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const told = new AbortController()
  const tell = () => told.abort(new Interrupted())
  for (const name of signals) process.once(name, tell)
  try {
    return await work(told.signal)
  } catch (error) {
    told.signal.throwIfAborted()
    throw error
  } finally {
    for (const name of signals) process.off(name, tell)
  }
}

const signals = ['SIGINT', 'SIGTERM'] as const
