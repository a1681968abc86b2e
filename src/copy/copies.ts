import { type Principal, sessionTargetOf } from '../auth/account.ts'
import { lendSession } from '../auth/lend-session.ts'
import { requireListed } from '../auth/listed-statements.ts'
import type { Config } from '../config.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { type Interruption, throwIfAborted } from '../postgres/pools/interruption.ts'
import { Slots } from '../postgres/pools/slots.ts'
import type { Session } from '../postgres/session.ts'
import type { CopyStatement } from '../sql/copy-statement.ts'
import { QuotaLedger } from './quota-ledger.ts'

/** What all copies of a process share. */
export type Copies = Readonly<{
  databases: Databases
  slots: Slots
  waitMs: number
  quotas: QuotaLedger
  limitMs: number
  anonymousLimitMs: number
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
    limitMs: config.copyTimeoutMs,
    anonymousLimitMs: Math.min(config.anonymousCopyTimeoutMs, config.copyTimeoutMs),
    maxBytes: config.copyMaxBytes,
  }
}

/** A connection for one copy. Its slot is free again when the connection is, or when its backend has ended. */
export async function openCopySession(
  { databases, slots, waitMs }: Copies,
  principal: Principal,
  { text }: Pick<CopyStatement, 'text'>,
  gone: Interruption,
): Promise<Session> {
  requireListed(principal, text)
  throwIfAborted(gone)
  const target = sessionTargetOf(principal)
  const late = () => errors.tooManyCopies(Math.max(1, Math.ceil(waitMs / 1000)))
  const leave = await slots.take(target, waitMs, late, gone)
  const free = databases.copy.acquire(target, gone, leave).catch((error: unknown) => {
    leave()
    throw error
  })
  return lendSession(principal, free)
}

export function copyLimitMs({ limitMs, anonymousLimitMs }: Copies, { key }: Principal): number {
  return key.type === 'default' ? anonymousLimitMs : limitMs
}
