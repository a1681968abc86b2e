import type { Pool } from 'pg'
import { errors } from '../../errors.ts'
import { remembered } from '../../remembered.ts'
import { firstHostId } from '../hosts.ts'
import { Slots } from '../pools/slots.ts'

/**
 * Runs `work`, which holds a connection to the control database while it asks a host something. A few do so at once for
 * one host, and a few more for all: should a host fall silent, the other connections are there for everybody else. The
 * first host needs no limit, as the control database is silent together with it.
 */
export async function whileAskingHost<T>(control: Pool, hostId: number, work: () => Promise<T>): Promise<T> {
  if (hostId === firstHostId) return work()
  const late = () => errors.connectionsExhausted(waitMs)
  const leave = await turnsOf(control).take({ role: String(hostId) }, waitMs, late)
  try {
    return await work()
  } finally {
    leave()
  }
}

const perHost = 3
const inTotal = 6
const waitMs = 5_000

const turnsOf = remembered(
  (_control: Pool) =>
    new Slots({ total: inTotal, perRole: perHost, perAccount: inTotal, anonymousPerAccount: inTotal }),
)
