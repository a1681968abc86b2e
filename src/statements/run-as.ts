import { type Principal, sessionTargetOf } from '../auth/account.ts'
import type { AppError } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { type Interruption, throwIfAborted } from '../postgres/pools/interruption.ts'
import type { Slots } from '../postgres/pools/slots.ts'
import type { Session } from '../postgres/session.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { blameRevocation, lendSession } from './lend-session.ts'
import { requireListed } from './require-listed.ts'
import { StatementRun } from './statement-run.ts'

export type StatementOptions = Readonly<{
  /** Which connections it takes: each kind has its own, so that none starves another. */
  kind: 'query' | 'copy'
  /** What the caller sent. Absent if the service asks for the caller with a statement of its own. */
  text?: string
  /** The role that runs it: the key's own, unless told. */
  target?: SessionTarget
  limitMs: number
  /** A limit on how many run at once, kept before a connection is asked for. */
  slots?: SlotsToWaitFor
  /** Fires when the client leaves. */
  gone: Interruption
}>

export type SlotsToWaitFor = Readonly<{ slots: Slots; waitMs: number; late: () => AppError }>

/**
 * Runs a statement of a caller: the only way to a tenant's database for what a request asks for. Waits for a connection of the
 * caller's role, confirms that the key is still valid, and stops the statement at its time limit or when the client leaves.
 *
 * `work` sends the statement with `run.send` and then owns the run: it calls `run.release()` when nothing more is on the wire.
 * If it sends nothing, the connection is given back here.
 */
export function runAs<T>(
  databases: Databases,
  principal: Principal,
  options: StatementOptions,
  work: (run: StatementRun) => Promise<T>,
): Promise<T> {
  return blameRevocation(principal, runOnce(databases, principal, options, work))
}

async function runOnce<T>(
  databases: Databases,
  principal: Principal,
  options: StatementOptions,
  work: (run: StatementRun) => Promise<T>,
): Promise<T> {
  const { text, target = sessionTargetOf(principal), limitMs, gone } = options
  if (text !== undefined) requireListed(principal, text)
  const session =
    takeNow(databases, principal, target, options) ??
    (await lendSession(principal, acquire(databases, target, options)))
  const run = new StatementRun({ databases, session, limitMs, gone })
  try {
    return await work(run)
  } finally {
    run.releaseUnsent()
  }
}

/** The short way: a connection is idle, and nothing has changed since the caller was identified. */
function takeNow(
  databases: Databases,
  principal: Principal,
  target: SessionTarget,
  { kind, slots, gone }: StatementOptions,
): Session | undefined {
  return slots === undefined && principal.isCurrent() ? databases[kind].take(target, gone) : undefined
}

/** The slot is free again when the connection is, or when its backend has ended. */
async function acquire(
  databases: Databases,
  target: SessionTarget,
  { kind, slots: limit, gone }: StatementOptions,
): Promise<Session> {
  const pools = databases[kind]
  if (limit === undefined) return pools.acquire(target, gone)
  throwIfAborted(gone)
  const leave = await limit.slots.take(target, limit.waitMs, limit.late, gone)
  return pools.acquire(target, gone, leave).catch((error: unknown) => {
    leave()
    throw error
  })
}
