import type { ScheduleDefinition, SkipReason } from './schedule.ts'

/** What becomes of a due time: a job, or a recorded skip. */
export type PlannedRun = Readonly<{ dueAt: Date; skipped: SkipReason | null }>

/**
 * Decides about due times, the oldest first. One that is late by more than a minute was missed: it is skipped, unless
 * `catch_up` makes up for the last one. While a job of the schedule has not ended, `overlap` decides.
 */
export function planRuns(
  { overlap, catchUp }: Pick<ScheduleDefinition, 'overlap' | 'catchUp'>,
  due: readonly Date[],
  now: Date,
  isJobOpen: boolean,
  isAll: boolean,
): readonly PlannedRun[] {
  const isMissed = (dueAt: Date) => now.getTime() - dueAt.getTime() > lateMs
  const isMadeUpFor = (place: number) => catchUp === 'last' && isAll && place === due.length - 1
  let isOpen = isJobOpen
  return due.map((dueAt, place) => {
    if (isMissed(dueAt) && !isMadeUpFor(place)) return { dueAt, skipped: 'missed' }
    if (isOpen && overlap === 'skip') return { dueAt, skipped: 'overlap' }
    isOpen = true
    return { dueAt, skipped: null }
  })
}

/** A worker looks for due schedules every second: after a minute, none was there. */
const lateMs = 60_000
