import { operator, recordAudit } from '../../audit/audit-store.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { kindOf, type Move, nameOf } from './move.ts'
import { endWaiting, findMove, giveUp, lockMove } from './move-store.ts'

/**
 * Gives a move up before its switch. A move that no process has begun ends at once; otherwise the process that works on
 * it notices within about a second and undoes it. Can be repeated, and then changes nothing.
 */
export async function cancelMove({ databases: { control } }: Installation, id: number): Promise<Move> {
  return inTransaction(control, async (tx) => {
    const move = await lockMove(tx, id)
    if (!move) throw errors.moveUnknown(String(id))
    if (move.phase === 'cleaning' || move.phase === 'done') throw tooLate(move)
    if (move.phase === 'undoing' || move.phase === 'failed') return move
    if (!(await endWaiting(tx, id, cancelled))) await giveUp(tx, id, cancelled)
    await recordAudit(tx, {
      actor: operator,
      action: 'move.cancelled',
      account: nameOf(move),
      details: { id },
    })
    return (await findMove(tx, id))!
  })
}

/** The error of a cancelled move. */
export const cancelled = 'Cancelled by the operator'

export const tooLate = (move: Move) =>
  errors.moveDecided(
    `The move ${move.id} is past its switch: the ${kindOf(move)} '${nameOf(move)}' went to the host '${move.toHost}'`,
  )
