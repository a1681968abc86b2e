import type { ClientBase } from 'pg'
import { errors } from '../../errors.ts'
import type { Host, Hosts } from '../../postgres/hosts.ts'

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

/** The same for a host that is changed or removed. `work` may use a view of the hosts, which does not hear of it. */
export async function untilMoved<T>(
  hosts: Hosts,
  host: Host,
  stopped: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const moved = new AbortController()
  const look = () => {
    if (!hosts.isCurrent(host)) moved.abort(errors.restoreRefused(`The host '${host.name}' was changed`))
  }
  const stopListening = hosts.onMoved(look)
  look()
  try {
    return await sayingWhy(AbortSignal.any([stopped, moved.signal]), work)
  } finally {
    stopListening()
  }
}

/** Rejects with the reason of the signal once it has aborted: what was cut off may say something else. */
export async function sayingWhy<T>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await work(signal)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}
