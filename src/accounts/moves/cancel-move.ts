import { operator, recordAudit } from '../../audit/audit-store.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { hasEnded, kindOf, type Move, nameOf } from './move.ts'
import { endWaiting, findMove, giveUp } from './move-store.ts'

/**
 * Gives a move up before its switch. One that nobody has begun ends at once; else the process that works on it notices
 * within a second or so, and undoes it. Can be repeated until it has ended.
 */
export async function cancelMove({ databases: { control } }: Installation, id: number): Promise<Move> {
  return inTransaction(control, async (tx) => {
    const move = await findMove(tx, id)
    if (!move) throw errors.moveUnknown(String(id))
    if (!(await endWaiting(tx, id, reason)) && !(await giveUp(tx, id, reason)))
      throw tooLate((await findMove(tx, id))!)
    await recordAudit(tx, {
      actor: operator,
      action: 'move.cancelled',
      account: nameOf(move),
      details: { id },
    })
    return (await findMove(tx, id))!
  })
}

const reason = 'Cancelled by the operator'

export const tooLate = (move: Move) =>
  errors.moveDecided(
    hasEnded(move) && move.phase === 'failed'
      ? `The move ${move.id} has failed already`
      : `The move ${move.id} is past its switch: the ${kindOf(move)} '${nameOf(move)}' is on the host '${move.toHost}'`,
  )
