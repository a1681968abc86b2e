import type { PoolClient } from 'pg'
import { collectLastNotes } from '../../audit/audit-tables.ts'
import type { Account } from '../../auth/account.ts'
import { userByName } from '../../auth/account-store.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import { AppError, errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { newestOf } from '../../hosts/tenant-databases.ts'
import { allowLongStatements } from '../../postgres/control/control-pool.ts'
import { onConnection } from '../../postgres/transaction.ts'
import { lockUser } from '../account-lock.ts'
import { holdJobs } from '../suspension/suspension-store.ts'
import { requireEqual } from './compare.ts'
import { copyAccount, prepareMove } from './copy-account.ts'
import { hasEnded, type Move } from './move.ts'
import { enterPhase, findMove, markArrived, recordProgress, switchHost } from './move-store.ts'
import { stopAccount } from './stop-account.ts'
import { finishMove, undoMove } from './undo-move.ts'

/**
 * Carries out a move, or ends one that was cut off: before the switch it is undone, after it it is finished. The lock of
 * the user ends with the process that works on the move, so a move whose lock is free is in nobody's hands. Does nothing
 * if another process has the lock.
 */
export async function carryOut(installation: Installation, id: number, stopped: AbortSignal): Promise<void> {
  const { control } = installation.databases
  const client = await control.connect()
  const lost = new AbortController()
  const onLost = () => lost.abort(errors.moveFailed('The connection to the control database was lost'))
  client.once('end', onLost).once('error', onLost)
  try {
    const move = await findMove(client, id)
    if (!move || hasEnded(move) || !(await lockUser(client, move.userId))) return
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
      ? await perform(installation, client, move, signal).catch((error: unknown) =>
          explain(installation, error),
        )
      : 'The process that carried it out has ended'
  if (typeof failure === 'string' && (await undoMove(installation, move, failure))) return
  await finishMove(installation, move)
}

function explain({ log }: Installation, error: unknown): string {
  if (!(error instanceof AppError)) log.error({ err: error }, 'the move of a user failed')
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
  const account = await userByName(client, move.username)
  if (!account) throw errors.accountNotFound('User', move.username)
  const programs = await prepareMove(installation, account, move)
  const roles = await stopAccount(installation, client, account, move)
  await require(enterPhase(client, move.id, 'copying'))
  const noteProgress = (percent: number) => recordProgress(control, move.id, percent).catch(() => undefined)
  const { before, after } = await copyAccount(installation, {
    account,
    move,
    programs,
    roles,
    signal,
    noteProgress,
  })
  await require(enterPhase(client, move.id, 'checking'))
  await noteProgress(90)
  requireEqual(await before, await after())
  await collectLastNotes(installation.databases, move.fromHostId, account.database)
  signal.throwIfAborted()
  await switchOver(installation, client, account, move)
}

async function require(isDone: Promise<boolean>): Promise<void> {
  if (!(await isDone)) throw errors.moveFailed('The move was given up')
}

/**
 * The one transaction that decides where the user is. On the connection that holds the lock: if that was lost, another
 * process may be undoing the move.
 */
async function switchOver(
  installation: Installation,
  client: PoolClient,
  account: Account,
  move: Move,
): Promise<void> {
  await onConnection(client, async (tx) => {
    await allowLongStatements(tx)
    await require(switchHost(tx, move, newestOf(installation.tenantMigrations)))
    await require(markArrived(tx, move))
    await holdJobs(tx, account.userId, false)
    await announceChange(tx)
  })
  await awaitCaches(installation.databases.control, installation.log)
}
