import type { PoolClient } from 'pg'
import { collectLastNotes } from '../../audit/audit-tables.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import { AppError, errors } from '../../errors.ts'
import { isReplicated } from '../../hosts/await-replicas.ts'
import type { Installation } from '../../hosts/installation.ts'
import { newestOf } from '../../hosts/tenant-databases.ts'
import { allowLongStatements } from '../../postgres/control/control-pool.ts'
import { onConnection } from '../../postgres/transaction.ts'
import { unlessAborted } from '../../waiting/unless-aborted.ts'
import { lockOrganization, lockUser } from '../account-lock.ts'
import { requireEqual } from './compare.ts'
import { copyAccount, prepareMove } from './copy-account.ts'
import { databaseOf, type Household } from './household.ts'
import { hasEnded, type Move, nameOf } from './move.ts'
import {
  enterPhase,
  findMove,
  isGivenUp,
  markArrived,
  membersOf,
  recordProgress,
  switchHost,
} from './move-store.ts'
import { stopAccount } from './stop-account.ts'
import { finishMove, replicasMs, undoMove } from './undo-move.ts'

/**
 * Carries out a move, or ends an interrupted one: before the switch it is undone, after the switch it is finished. The
 * lock of the account ends with the process that works on the move, so a move with a free lock has no process. Does
 * nothing if another process has the lock.
 */
export async function carryOut(installation: Installation, id: number, stopped: AbortSignal): Promise<void> {
  const { control } = installation.databases
  const client = await control.connect()
  const lost = new AbortController()
  const onLost = () => lost.abort(errors.moveFailed('The connection to the control database was lost'))
  client.once('end', onLost).once('error', onLost)
  try {
    const move = await findMove(client, id)
    if (!move || hasEnded(move) || !(await lockAccount(client, move))) return
    await settle(
      installation,
      client,
      id,
      AbortSignal.any([stopped, lost.signal, AbortSignal.timeout(longestMoveMs)]),
    )
  } finally {
    client.off('end', onLost).off('error', onLost)
    // The lock goes with the connection.
    client.release(true)
  }
}

const lockAccount = (client: PoolClient, { userId, organizationId }: Move) =>
  userId === null ? lockOrganization(client, organizationId!) : lockUser(client, userId)

/** Code of the tenant runs while its rows are copied, and may never end. */
const longestMoveMs = 12 * 3_600_000

/** Under the lock: the row may have changed before we had it. */
async function settle(
  installation: Installation,
  client: PoolClient,
  id: number,
  signal: AbortSignal,
): Promise<void> {
  const move = await findMove(client, id)
  if (!move || hasEnded(move)) return
  const failure =
    move.phase === 'waiting'
      ? await untilCancelled(installation, id, signal, (either) =>
          perform(installation, client, move, either),
        ).catch((error: unknown) => explain(installation, error))
      : 'The process that carried it out has ended'
  if (typeof failure === 'string' && (await undoMove(installation, move, failure))) return
  const now = await findMove(installation.databases.control, id)
  // Cancelled before it had begun.
  if (now && !hasEnded(now)) await finishMove(installation, move)
}

/** Aborts when the move is cancelled, here or in another process. */
async function untilCancelled<T>(
  { databases: { control } }: Installation,
  id: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const cancelled = new AbortController()
  const look = async () => {
    if (await isGivenUp(control, id)) cancelled.abort(errors.moveFailed('The move was given up'))
  }
  const timer = setInterval(() => void look().catch(() => undefined), 1_000)
  try {
    return await work(AbortSignal.any([signal, cancelled.signal]))
  } finally {
    clearInterval(timer)
  }
}

function explain({ log }: Installation, error: unknown): string {
  if (!(error instanceof AppError)) log.error({ err: error }, 'the move of an account failed')
  const text = error instanceof Error ? error.message : String(error)
  return text.slice(0, longestReason)
}

/** Code of the tenant may have written it. */
const longestReason = 2_000

async function perform(
  installation: Installation,
  client: PoolClient,
  move: Move,
  signal: AbortSignal,
): Promise<void> {
  const { control } = installation.databases
  signal.throwIfAborted()
  const members = await membersOf(client, move)
  const household: Household = { database: databaseOf(installation, move), members }
  if (members.length === 0) throw errors.accountNotFound('Account', nameOf(move))
  const programs = await prepareMove(installation, household, move)
  const roles = await stopAccount(installation, client, household, move, signal)
  await require(enterPhase(client, move.id, 'copying'))
  const noteProgress = (percent: number) => recordProgress(control, move.id, percent).catch(() => undefined)
  const { before, after } = await copyAccount(installation, {
    household,
    move,
    programs,
    roles,
    signal,
    noteProgress,
  })
  await require(enterPhase(client, move.id, 'checking'))
  await noteProgress(90)
  const [here, there] = await unlessAborted(signal, Promise.all([before, after()]))
  requireEqual(here, there)
  if (!(await isReplicated(installation.databases, move.toHostId, replicasMs)))
    throw errors.moveFailed(`The replicas of the host '${move.toHost}' have not confirmed the copy in time`)
  await collectLastNotes(installation.databases, move.fromHostId, household.database)
  signal.throwIfAborted()
  await switchOver(installation, client, move)
}

async function require(isDone: Promise<boolean>): Promise<void> {
  if (!(await isDone)) throw errors.moveFailed('The move was given up')
}

/**
 * The one transaction that decides where the account is. On the connection that holds the lock: if that was lost, another
 * process may be undoing the move.
 */
async function switchOver(installation: Installation, client: PoolClient, move: Move): Promise<void> {
  await onConnection(client, async (tx) => {
    await allowLongStatements(tx)
    await require(switchHost(tx, move, newestOf(installation.tenantMigrations)))
    await require(markArrived(tx, move))
    await announceChange(tx)
  })
  await awaitCaches(installation.databases.control, installation.log)
}
