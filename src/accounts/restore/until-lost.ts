import type { ClientBase } from 'pg'
import { errors } from '../../errors.ts'

/** Runs `work` with a signal that also aborts when this connection, and with it its locks, is lost. */
export async function untilLost<T>(
  client: ClientBase,
  stopped: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController()
  const onLost = () => lost.abort(errors.restoreRefused('The connection to the control database was lost'))
  client.once('end', onLost).once('error', onLost)
  try {
    return await sayingWhy(AbortSignal.any([stopped, lost.signal]), work)
  } finally {
    client.off('end', onLost).off('error', onLost)
  }
}

async function sayingWhy<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await work(signal)
  } catch (error) {
    // What was cut off may say something else.
    signal.throwIfAborted()
    throw error
  }
}
