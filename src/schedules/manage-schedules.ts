import type { ClientBase } from 'pg'
import type { Account } from '../auth/account.ts'
import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { inTransaction } from '../postgres/transaction.ts'
import { dueAfter } from './due-times.ts'
import { runLocked } from './run-schedules.ts'
import type { Schedule, ScheduleDefinition } from './schedule.ts'
import { findSchedule, lockSchedule, measureSchedules, putSchedule, readDueFrom } from './schedule-store.ts'

/** The size of all schedule definitions of an account, because the list returns all of them. */
const mostBytes = 4 * 1024 ** 2

/** `writeNotices` writes whom the schedule tells, after the schedule itself. */
export type Saving = Readonly<{ isNew: boolean; writeNotices: (tx: ClientBase) => Promise<void> }>

/**
 * Makes or replaces a schedule. Its first due time is after now by the clock of the database, and after every recorded
 * one. What is due already is run as the schedule was.
 */
export async function saveSchedule(
  { control }: Databases,
  config: Config,
  account: Account,
  schedule: ScheduleDefinition,
  { isNew, writeNotices }: Saving,
): Promise<Readonly<{ schedule: Schedule; isMade: boolean }>> {
  return inTransaction(control, async (tx) => {
    const { count, otherBytes } = await measureSchedules(tx, account, schedule.name)
    const isMade = !(await runWhatIsDue(tx, config, account, schedule.name))
    if (!isMade && isNew) throw errors.scheduleTaken(schedule.name)
    const { value: most } = limitOf(config, account.setLimits, 'schedules')
    if (isMade && count >= most) throw errors.tooManySchedules(most)
    if (otherBytes + Buffer.byteLength(JSON.stringify(schedule.job)) > mostBytes)
      throw errors.scheduleInvalid('The queries of all schedules of an account have at most 4 MB together')
    const from = await readDueFrom(tx, account, schedule.name)
    const next = schedule.isEnabled ? (dueAfter(schedule, from) ?? null) : null
    await putSchedule(tx, account, schedule, next)
    await writeNotices(tx)
    return { schedule: (await findSchedule(tx, account, schedule.name))!, isMade }
  })
}

/** Locks the schedule, and runs what is due of it. False: there is no such schedule. */
async function runWhatIsDue(
  tx: ClientBase,
  config: Config,
  account: Account,
  name: string,
): Promise<boolean> {
  for (;;) {
    const found = await lockSchedule(tx, account, name)
    if (!found?.nextDueAt || found.nextDueAt > found.now) return found !== undefined
    await runLocked(tx, config, found)
  }
}
