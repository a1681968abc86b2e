import { type Principal, sessionTargetOf } from '../auth/account.ts'
import type { AppError } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { type AbortLike, throwIfAborted } from '../postgres/pools/interruption.ts'
import type { Slots } from '../postgres/pools/slots.ts'
import type { Session } from '../postgres/session.ts'
import type { SessionTarget } from '../postgres/session-target.ts'
import { toClientError } from '../postgres/wire/wire-error.ts'
import { explainRevocation, lendSession, requireListed } from './admit-caller.ts'
import { beginOnReplica, chooseReplica, isLost, isOfReplica, type ReplicaReader } from './replica-reader.ts'
import { type RunningStatement, runningStatements } from './running-statements.ts'
import { StatementRun } from './statement-run.ts'
import type { TimeLimits } from './time-limits.ts'

export type StatementOptions = Readonly<{
  /** Which connections to use: each kind has its own, so that neither starves the other. */
  kind: 'query' | 'copy' | 'tile'
  /** The caller's text. Absent for a statement of the service. */
  text?: string
  /** The role that runs it; by default the key's own. */
  target?: SessionTarget
  limits: TimeLimits
  /** `read`: in a transaction that cannot write, which is rolled back. By default the text decides. */
  access?: 'read' | undefined
  /** A look-up of ours for a statement of the caller: not a request of its own in the use of the account. */
  isAside?: boolean | undefined
  /** A limit on concurrent statements, checked before a connection is requested. */
  slots?: SlotsToWaitFor
  /** Fires when the client leaves. */
  gone: AbortLike
  /** Given if the caller wants to read from a replica. Then `work` may be called again, for the primary, while `isAnswered` is false. */
  reader?: ReplicaReader | undefined
  /** Something was sent to the client. */
  isAnswered?: (() => boolean) | undefined
}>

export type SlotsToWaitFor = Readonly<{
  slots: Slots
  /** The limit of the account, if it has its own. */
  most?: number | undefined
  waitMs: number
  late: () => AppError
}>

/**
 * Runs a caller's statement: the only way from a request to a tenant's database. Waits for a connection of the caller's
 * role, confirms that the key is still valid, and stops the statement at its time limit or when the client leaves.
 *
 * `work` sends the statement with `run.send` and then owns the run: it calls `run.release()` when the wire is idle. If
 * it sends nothing, the connection is released here.
 */
export function runAs<T>(
  databases: Databases,
  principal: Principal,
  options: StatementOptions,
  work: (run: StatementRun) => Promise<T>,
): Promise<T> {
  const run = options.reader ? runOnReplica(options.reader) : runOnce
  return explainRevocation(principal, run(databases, principal, options, work))
}

/** A read on a replica, and if that cannot answer, on the primary. */
function runOnReplica(reader: ReplicaReader): typeof runOnce {
  return async (databases, principal, options, work) => {
    const { isAnswered = () => false } = options
    const target = await chooseReplica(databases, principal, options)
    if (!target) return runOnce(databases, principal, options, work)
    let hasBegun = false
    try {
      return await runOnce(databases, principal, { ...options, target }, async (run) => {
        beginOnReplica(databases, target, reader)
        hasBegun = true
        const stopListening = databases.replicas.onLost(target.hostId, () => {
          if (!run.isOver && !isAnswered()) void run.session.destroy()
        })
        try {
          return await work(run)
        } finally {
          stopListening()
        }
      })
    } catch (error) {
      if (isAnswered() || !isOfReplica(error)) throw error
      if (isLost(error)) databases.replicas.recheck(target.hostId)
    }
    if (hasBegun) reader.returns()
    return runOnce(databases, principal, options, work)
  }
}

async function runOnce<T>(
  databases: Databases,
  principal: Principal,
  options: StatementOptions,
  work: (run: StatementRun) => Promise<T>,
): Promise<T> {
  const { text, target = sessionTargetOf(principal), limits, access, gone, isAside } = options
  if (text !== undefined) requireListed(principal, text)
  const statement = runningStatements(databases).begin(principal, kindOf(principal, options), text)
  let session: Session
  try {
    session =
      takeNow(databases, principal, target, options) ??
      (await waitForSession(databases, principal, target, options, statement))
  } catch (error) {
    statement.end()
    throw error
  }
  const run = new StatementRun({ databases, session, limits, access, gone, statement, isAside })
  try {
    if (access === 'read') await beginRead(run)
    return await work(run)
  } finally {
    run.releaseUnsent()
  }
}

/** What runs in it cannot make it writable: PostgreSQL refuses that after the first snapshot. */
async function beginRead(run: StatementRun): Promise<void> {
  await run
    .watch((session) => session.query('begin read only'))
    .catch((error: unknown) => {
      throw toClientError(error)
    })
}

/** A guest reads the link of an export, or the tiles of a named map. */
const kindOf = ({ isGuest }: Principal, { kind }: StatementOptions) =>
  isGuest && kind !== 'tile' ? 'export' : kind

/** Fast path: a connection is idle, and no account has changed since the caller was identified. */
function takeNow(
  databases: Databases,
  principal: Principal,
  target: SessionTarget,
  { kind, slots, gone }: StatementOptions,
): Session | undefined {
  return slots === undefined && principal.isCurrent() ? databases[kind].take(target, gone) : undefined
}

async function waitForSession(
  databases: Databases,
  principal: Principal,
  target: SessionTarget,
  options: StatementOptions,
  statement: RunningStatement,
): Promise<Session> {
  const free = statement.wait(options.gone, (gone) =>
    acquire(databases, target, { ...options, gone }, statement),
  )
  const session = await lendSession(principal, free)
  if (statement.stopReason) {
    session.release()
    throw statement.stopReason
  }
  return session
}

/** The slot is freed when the connection is released, or when its backend has ended. */
async function acquire(
  databases: Databases,
  target: SessionTarget,
  { kind, slots: limit, gone }: StatementOptions,
  statement: RunningStatement,
): Promise<Session> {
  const pools = databases[kind]
  statement.waitsFor = 'connection'
  if (limit === undefined) return pools.acquire(target, gone)
  throwIfAborted(gone)
  statement.waitsFor = 'slot'
  const holder = limit.most === undefined ? target : { ...target, most: limit.most }
  const leave = await limit.slots.take(holder, limit.waitMs, limit.late, gone)
  statement.waitsFor = 'connection'
  return pools.acquire(target, gone, leave).catch((error: unknown) => {
    leave()
    throw error
  })
}
