import { InterruptedError } from './command-error.ts'

/** Runs `work` until it ends or a signal arrives. A second signal ends the process at once. */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort(new InterruptedError())
  for (const name of signals) process.once(name, interrupt)
  try {
    return await work(interrupted.signal)
  } catch (error) {
    interrupted.signal.throwIfAborted()
    throw error
  } finally {
    for (const name of signals) process.off(name, interrupt)
  }
}

const signals = ['SIGINT', 'SIGTERM'] as const
