import { Cron } from 'croner'
import { errors } from '../errors.ts'
import { nextTurn } from '../waiting/next-turn.ts'

export type CronRule = Readonly<{ cron: string; timezone: string }>

/** Refuses a rule that is wrong, or that is never due. */
export function checkCron(rule: CronRule): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: rule.timezone })
  } catch {
    throw errors.scheduleInvalid(`timezone must be a name such as Europe/Paris, not ${rule.timezone}`)
  }
  if (dueAfter(rule, new Date()) === undefined)
    throw errors.scheduleInvalid(`cron is never due: ${rule.cron}`)
}

/** The first due time after another one; undefined: there is none. */
export function dueAfter(rule: CronRule, time: Date): Date | undefined {
  return clockOf(rule).nextRun(time) ?? undefined
}

function clockOf({ cron, timezone }: CronRule): Cron {
  try {
    return new Cron(cron, { timezone, mode: '5-part' })
  } catch (error) {
    const reason = (error as Error).message.replace(/^CronPattern: /, '')
    throw errors.scheduleInvalid(`cron must have five fields, or be a word such as @daily: ${reason}`)
  }
}

/**
 * The due times from `first` until now, the oldest first and at most so many, and the one that follows them. Found over
 * several turns of the event loop.
 */
export async function dueTimes(
  rule: CronRule,
  first: Date,
  now: Date,
  most: number,
): Promise<Readonly<{ due: readonly Date[]; next: Date | undefined }>> {
  const clock = clockOf(rule)
  const due: Date[] = []
  let next: Date | undefined = first
  while (next && next <= now && due.length < most) {
    due.push(next)
    next = clock.nextRun(next) ?? undefined
    if (due.length % 10 === 0) await nextTurn()
  }
  return { due, next }
}
