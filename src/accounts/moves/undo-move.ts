import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import type { Installation } from '../../hosts/installation.ts'
import { isOutOfReach } from '../../hosts/out-of-reach.ts'
import { dropDatabase } from '../../hosts/tenant-databases.ts'
import { isBusy } from '../../postgres/sqlstate.ts'
import { masterRoleName } from '../../postgres/tenant-names.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { holdJobs } from '../suspension/suspension-store.ts'
import { dropRoles, openLogins } from '../tenant-roles.ts'
import { hasEnded, type Move } from './move.ts'
import { endMove, findMove, giveUp, hostOfUser, isAway, markArrived } from './move-store.ts'
import { dropMover } from './mover.ts'

/**
 * Serves the user on its old host again, then drops what is on the other. Safe to repeat. False: the user is on the
 * other host already, as a commit whose answer was lost has happened.
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
  const masterRole = masterRoleOf(installation, move)
  if (await isAway(control, move)) {
    await openLogins(databases, move.fromHostId, masterRole)
    await inTransaction(control, async (tx) => {
      // Once: the operator may have suspended the user since, whose jobs wait then.
      if (!(await markArrived(tx, move))) return
      await holdJobs(tx, move.userId, false)
      await announceChange(tx)
    })
    await awaitCaches(control, log)
  }
  await leavingForLater(installation, async () => {
    await dropPlace(installation, move, move.toHostId)
    await dropMover(databases, move.fromHostId, masterRole)
    await endMove(control, move.id, 'failed')
  })
  return true
}

/** The user is served on its new host: drops what is on the old one. Safe to repeat. */
export async function finishMove(installation: Installation, move: Move): Promise<void> {
  const { databases } = installation
  await leavingForLater(installation, async () => {
    await dropPlace(installation, move, move.fromHostId)
    await dropMover(databases, move.toHostId, masterRoleOf(installation, move))
    await endMove(databases.control, move.id, 'done')
  })
}

/** Database and roles of the user on a host where the user is not. */
async function dropPlace({ databases, namespace }: Installation, move: Move, hostId: number): Promise<void> {
  const masterRole = masterRoleName(namespace, move.userId)
  // Asked while the name is held, without which no other move can make it anew: this process may have stood still since.
  const confirm = async () => {
    const now = await findMove(databases.control, move.id)
    if (!now || hasEnded(now) || (await hostOfUser(databases.control, move.userId)) === hostId)
      throw new Error(`the user ${move.userId} is on this host, or its move has ended`)
  }
  await dropDatabase(databases, hostId, masterRole, confirm)
  await dropMover(databases, hostId, masterRole)
  await dropRoles(databases, hostId, masterRole, confirm)
}

const masterRoleOf = ({ namespace }: Installation, { userId }: Move) => masterRoleName(namespace, userId)

/** The user is served. What a silent host has, or a lock holds, is dropped by the next repair. */
async function leavingForLater({ log }: Installation, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!isOutOfReach(error) && !isBusy(error)) throw error
    log.warn({ err: error }, 'what a moved user has left cannot be dropped now: repair will try again')
  })
}
