import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import { errors } from '../../errors.ts'
import { isReplicated } from '../../hosts/await-replicas.ts'
import type { Installation } from '../../hosts/installation.ts'
import { dropDatabase } from '../../hosts/tenant-databases.ts'
import { firstHostId } from '../../postgres/hosts.ts'
import { isBusy, isOutOfReach } from '../../postgres/sqlstate.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { dropRoles, openLogins } from '../tenant-roles.ts'
import { databaseOf, mastersOf } from './household.ts'
import { hasEnded, kindOf, type Move, nameOf } from './move.ts'
import { endMove, findMove, giveUp, hostOfMoved, isAway, markArrived, membersOf } from './move-store.ts'
import { dropMover } from './mover.ts'
import { arrivalOf, markArrival } from './new-place.ts'

/**
 * Serves the account on its old host again, then drops what is on the other. Safe to repeat. False: the account is on
 * the other host already, as a commit whose answer was lost has happened.
 */
export async function undoMove(installation: Installation, move: Move, reason: string): Promise<boolean> {
  const { databases, log } = installation
  const { control } = databases
  if (!(await giveUp(control, move.id, reason))) return false
  // Before the stop nothing was made. What is on the other host by these names is not ours.
  if ((await findMove(control, move.id))?.stoppedAt === null) {
    await endMove(control, move.id, 'failed')
    return true
  }
  if (await isAway(control, move)) {
    for (const { masterRole } of await membersOf(control, move))
      await openLogins(databases, move.fromHostId, masterRole)
    await inTransaction(control, async (tx) => {
      // Once: the operator may have suspended a user since, whose jobs wait then.
      if (await markArrived(tx, move)) await announceChange(tx)
    })
    await awaitCaches(control, log)
  }
  const isWithoutMover = await dropMoverAt(installation, move, move.fromHostId)
  await leavingForLater(installation, async () => {
    await dropPlace(installation, move, move.toHostId)
    if (isWithoutMover) await endMove(control, move.id, 'failed')
  })
  return true
}

/** The account is served on its new host: drops what is on the old one. Safe to repeat. */
export async function finishMove(installation: Installation, move: Move): Promise<void> {
  const { databases } = installation
  const isWithoutMover = await dropMoverAt(installation, move, move.toHostId)
  await leavingForLater(installation, async () => {
    // A fail-over that lost the copy or the switch would need the old place.
    for (const hostId of [move.toHostId, firstHostId])
      if (!(await isReplicated(databases, hostId, replicasMs)))
        throw errors.databaseUnavailable(new Error(`the replicas of host ${hostId} are behind`))
    await markArrival(databases, move.toHostId, databaseOf(installation, move), move.id)
    await dropPlace(installation, move, move.fromHostId)
    if (isWithoutMover) await endMove(databases.control, move.id, 'done')
  })
}

/** Where the account is served. By itself, and first: its rights shall not last as long as the other host is silent. */
const dropMoverAt = (installation: Installation, move: Move, hostId: number) =>
  leavingForLater(installation, () =>
    dropMover(installation.databases, hostId, databaseOf(installation, move)),
  )

/** How long replicas have to confirm what a move has written. */
export const replicasMs = 10_000

/** Database and roles of the account on a host where it is not. */
async function dropPlace(installation: Installation, move: Move, hostId: number): Promise<void> {
  const { databases, log } = installation
  const database = databaseOf(installation, move)
  // The control database may be an older one that was put back: then this is the account itself.
  if (((await arrivalOf(databases, hostId, database)) ?? 0) >= move.id) {
    log.error(
      { database, host: databases.hosts.get(hostId).name, move: move.id },
      'a database is not dropped: it came by this move or a later one, which the control database does not know',
    )
    return
  }
  // Checked while the lock of the name is held: another move may have started while this process was stopped.
  const confirm = async () => {
    const now = await findMove(databases.control, move.id)
    if (!now || hasEnded(now) || (await hostOfMoved(databases.control, move)) === hostId)
      throw new Error(`the ${kindOf(move)} ${nameOf(move)} is on this host, or its move has ended`)
  }
  await dropDatabase(databases, hostId, database, confirm)
  await dropMover(databases, hostId, database)
  for (const role of await mastersOf(installation, move)) await dropRoles(databases, hostId, role, confirm)
}

/** The account is served. What a silent host has, or a lock holds, is dropped by the next repair: false. */
async function leavingForLater({ log }: Installation, work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!isOutOfReach(error) && !isBusy(error)) throw error
    log.warn({ err: error }, 'what a moved account has left cannot be dropped now: trying again later')
    return false
  }
}
