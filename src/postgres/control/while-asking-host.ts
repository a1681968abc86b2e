import type { Pool } from 'pg'
import { firstHostId } from '../hosts.ts'
import { controlTurns } from './control-turns.ts'

/**
 * Runs `work`, which holds a control connection while it queries a host. Concurrency is limited per host and in total:
 * if a host is silent, the other control connections stay available. The first host needs no limit: the control
 * database is silent together with it.
 */
export function whileAskingHost<T>(control: Pool, hostId: number, work: () => Promise<T>): Promise<T> {
  return hostId === firstHostId ? work() : inTurn(control, { role: String(hostId) }, work)
}

/** The role in the slots is the host. */
const inTurn = controlTurns({ total: 6, perRole: 3, waitMs: 5_000 })
