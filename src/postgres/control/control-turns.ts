import type { Pool } from 'pg'
import { errors } from '../../errors.ts'
import { remembered } from '../../remembered.ts'
import { type SlotHolder, Slots } from '../pools/slots.ts'

type Turns = Readonly<{ total: number; perRole?: number; waitMs: number }>

/**
 * Limits work that holds a connection to the control database while it waits for something else: a few run at once, the
 * others queue, and are refused after `waitMs`. Each pool has its own limit.
 */
export function controlTurns({ total, perRole = total, waitMs }: Turns) {
  const slotsOf = remembered(
    (_control: Pool) => new Slots({ total, perRole, perAccount: total, anonymousPerAccount: total }),
  )
  const late = () => errors.connectionsExhausted(waitMs)
  return async <T>(control: Pool, holder: SlotHolder, work: () => Promise<T>): Promise<T> => {
    const leave = await slotsOf(control).take(holder, waitMs, late)
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
