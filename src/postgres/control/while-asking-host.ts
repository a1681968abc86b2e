import type { Pool } from 'pg'
import { firstHostId } from '../hosts.ts'
import { controlTurns } from './control-turns.ts'

/**
 * Runs `work`, which holds a connection to the control database while it asks a host something. A few do so at once for
 * one host, and a few more for all: should a host fall silent, the other connections are there for everybody else. The
 * first host needs no limit, as the control database is silent together with it.
 */
export function whileAskingHost<T>(control: Pool, hostId: number, work: () => Promise<T>): Promise<T> {
  return hostId === firstHostId ? work() : inTurn(control, { role: String(hostId) }, work)
}

/** A role stands for a host. */
const inTurn = controlTurns({ total: 6, perRole: 3, waitMs: 5_000 })
