import type { Principal } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { Slots } from '../postgres/pools/slots.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'
import type { StatementOptions } from '../statements/run-as.ts'
import { copyLimits, type LimitsOf } from '../statements/time-limits.ts'
import { QuotaLedger } from './quota-ledger.ts'

/** What all copies of a process share. */
export type Copies = Readonly<{
  databases: Databases
  slots: Slots
  waitMs: number
  quotas: QuotaLedger
  limitsOf: LimitsOf
  maxBytes: number
}>

export function openCopies(config: Config, databases: Databases): Copies {
  return {
    databases,
    slots: new Slots({
      total: config.copiesPerProcess,
      perRole: config.copiesPerUser,
      perAccount: config.copiesPerUser,
      anonymousPerAccount: config.anonymousCopies,
    }),
    waitMs: config.copyWaitMs,
    quotas: new QuotaLedger(),
    limitsOf: copyLimits(config),
    maxBytes: config.copyMaxBytes,
  }
}

/** The options of a copy for this caller. */
export function copyOptions(
  { slots, waitMs, limitsOf }: Copies,
  principal: Principal,
  { text }: Pick<CopyStatement, 'text'>,
  gone: AbortLike,
): StatementOptions {
  const late = () => errors.tooManyCopies(Math.max(1, Math.ceil(waitMs / 1000)))
  return {
    kind: 'copy',
    text,
    limits: limitsOf(principal),
    slots: { slots, waitMs, late },
    gone,
  }
}
