import type { Config } from '../config.ts'
import type { Databases } from '../postgres/databases.ts'
import { CopySlots } from './copy-slots.ts'
import { QuotaLedger } from './quota-ledger.ts'

/** What all copies of a process share. */
export type Copies = Readonly<{
  databases: Databases
  slots: CopySlots
  quotas: QuotaLedger
  limitMs: number
  maxBytes: number
}>

export function openCopies(config: Config, databases: Databases): Copies {
  return {
    databases,
    slots: new CopySlots({
      perUser: config.copiesPerUser,
      perProcess: config.copiesPerProcess,
      waitMs: config.copyWaitMs,
    }),
    quotas: new QuotaLedger(),
    // A timer that is set for longer would fire at once.
    limitMs: Math.min(config.copyTimeoutMs, 2 ** 31 - 1),
    maxBytes: config.copyMaxBytes,
  }
}
