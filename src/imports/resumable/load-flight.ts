import { errors } from '../../errors.ts'
import type { Flight } from '../../jobs/job-store.ts'
import { markFlight } from '../../jobs/mark-store.ts'
import { settleFlight } from '../../jobs/statement-outcome.ts'
import type { Databases } from '../../postgres/databases.ts'
import { firstHostId } from '../../postgres/hosts.ts'
import type { HeldUpload } from './held-upload.ts'
import type { UploadRecord } from './upload-store.ts'

/**
 * Records the transaction of a load before anything is sent in it: in the control database, and on another host there too,
 * in the same WAL as the rows. Throws if the load must not be sent.
 */
export async function announceLoad(
  databases: Databases,
  held: HeldUpload,
  hostId: number,
  flight: Flight,
): Promise<void> {
  if (!(await held.beginLoad({ ...flight, hostId }))) throw errors.uploadLocked()
  if (hostId === firstHostId) return
  const { id, flight: last } = held.record
  let settled: Flight | null = last
  for (let tries = 0; tries < mostMarks; tries++) {
    const marked = await markFlight(databases, hostId, { jobId: id, step: loadStep }, flight, settled)
    if (marked === 'marked') return
    if (marked === 'gone') break
    // The control database does not know of this load: its process was killed, or the database was restored.
    const { kind } = await settleFlight(databases, hostId, id, marked)
    if (kind !== 'aborted') throw errors.uploadOutcomeUnknown()
    settled = marked
  }
  throw errors.databaseUnavailable()
}

const mostMarks = 3
const loadStep = 'load'

/** A load is over, or has lost its request: ends its backend if that still runs, and asks PostgreSQL what became of it. */
export async function settleLoad(
  databases: Databases,
  { id, flight }: UploadRecord,
): Promise<'stored' | 'not-stored' | 'unknown'> {
  if (!flight) return 'unknown'
  const { kind } = await settleFlight(databases, flight.hostId, id, flight)
  return kind === 'committed' ? 'stored' : kind === 'aborted' ? 'not-stored' : 'unknown'
}
