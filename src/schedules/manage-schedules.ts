import type { Account } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { dueAfter } from './due-times.ts'
import type { Schedule, ScheduleDefinition } from './schedule.ts'
import { countSchedules, findSchedule, putSchedule, readDueFrom } from './schedule-store.ts'

export const mostSchedules = 100

/** Makes or replaces a schedule. Its first due time is after now by the clock of the database, and after every recorded one. */
export async function saveSchedule(
  { control }: Databases,
  account: Account,
  schedule: ScheduleDefinition,
  { isNew }: Readonly<{ isNew: boolean }>,
): Promise<Readonly<{ schedule: Schedule; isMade: boolean }>> {
  return inTransaction(control, async (tx) => {
    const count = await countSchedules(tx, account)
    const former = await findSchedule(tx, account, schedule.name)
    if (former && isNew) throw errors.scheduleTaken(schedule.name)
    if (!former && count >= mostSchedules) throw errors.tooManySchedules(mostSchedules)
    const from = await readDueFrom(tx, account, schedule.name)
    const next = schedule.isEnabled ? (dueAfter(schedule, from) ?? null) : null
    await putSchedule(tx, account, schedule, next)
    return { schedule: (await findSchedule(tx, account, schedule.name))!, isMade: !former }
  })
}
