import type { Pool } from 'pg'
import { recordFirstReading } from '../audit/audit-store.ts'
import { remembered } from '../remembered.ts'

export type MemberReading = Readonly<{ reader: string; member: string; key: string; address: string }>

/**
 * Records that an owner or admin reads what another member ran: once a day for both, and before the answer. A reading
 * that cannot be recorded fails.
 */
export async function noteReading(control: Pool, reading: MemberReading): Promise<void> {
  const noted = notedOn(control)
  const day = new Date().toISOString().slice(0, 10)
  if (noted.day !== day || noted.pairs.size >= mostNoted) noted.pairs.clear()
  noted.day = day
  const pair = `${reading.reader} ${reading.member}`
  if (noted.pairs.has(pair)) return
  await recordFirstReading(control, day, reading)
  noted.pairs.add(pair)
}

const notedOn = remembered((_control: Pool) => ({ day: '', pairs: new Set<string>() }))
const mostNoted = 100_000
