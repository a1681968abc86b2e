import { unlessAborted } from './unless-aborted.ts'

/**
 * Passes on what a source gives. Ends with what `tooLate` makes if the next item takes longer than `ms`, and with the reason
 * of the signal as soon as it fires: a read of a file may never end. The read itself goes on, and nobody waits for it.
 */
export async function* eachInTime<T>(
  items: AsyncIterable<T>,
  ms: number,
  tooLate: () => Error,
  signal?: AbortSignal,
): AsyncGenerator<T> {
  const source = items[Symbol.asyncIterator]()
  const late = new AbortController()
  const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal
  try {
    for (;;) {
      const timer = setTimeout(() => late.abort(tooLate()), ms)
      const next = await unlessAborted(either, source.next()).finally(() => clearTimeout(timer))
      if (next.done) return
      yield next.value
    }
  } finally {
    source.return?.().catch(() => undefined)
  }
}
