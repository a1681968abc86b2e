import { Cron } from 'croner'
import { errors } from '../errors.ts'
import { nextTurn } from '../waiting/next-turn.ts'
import { reachMs, WallClock } from './wall-clock.ts'

export type CronRule = Readonly<{ cron: string; timezone: string }>

/** Refuses a rule that is wrong, or that is never due. */
export function checkCron(rule: CronRule): void {
  checkZone(rule.timezone)
  if (!words.test(rule.cron)) checkFields(rule.cron.split(/\s+/))
  patternOf(rule)
  if (isNeverDue(rule.cron.toLowerCase().split(/\s+/)) || dueAfter(rule, new Date()) === undefined)
    throw errors.scheduleInvalid(`cron is never due: ${rule.cron}`)
}

function checkZone(timezone: string): void {
  try {
    // Some versions of Intl take offsets too.
    if (/^[A-Za-z]/.test(timezone) && zoneOf(timezone)) return
  } catch {}
  throw errors.scheduleInvalid(`timezone must be a name such as Europe/Paris, not ${timezone}`)
}

/** The parser takes more: dates, and L, W, #, ? and +. Some of these take it seconds. */
function checkFields(fields: readonly string[]): void {
  const isRight = (field: string, place: number) =>
    kinds[place]!.test(field) && field.split(',').length <= mostItems
  if (fields.length === kinds.length && fields.every(isRight)) return
  throw errors.scheduleInvalid(
    `cron must have five fields of numbers, names of months and weekdays, and * , - / (up to ${mostItems} items in each), or be one of @hourly, @daily, @weekly, @monthly, @yearly`,
  )
}

const words = /^@(hourly|daily|weekly|monthly|yearly)$/i
const months = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'
const weekdays = 'sun|mon|tue|wed|thu|fri|sat'
const numbers = /^[\d*,/-]+$/
const kinds = [
  numbers,
  numbers,
  numbers,
  new RegExp(`^([\\d*,/-]|${months})+$`, 'i'),
  new RegExp(`^([\\d*,/-]|${weekdays})+$`, 'i'),
]
const mostItems = 60

/** True if no month of the rule has its first day: the parser would look through 8,000 years. */
function isNeverDue([, , day, month, weekday]: readonly string[]): boolean {
  if (day === undefined || month === undefined || weekday !== '*') return false
  const firstDay = Math.min(
    ...day.split(',').map((item) => (item.startsWith('*') ? 1 : Number.parseInt(item, 10))),
  )
  const numbered = month.replace(new RegExp(months, 'g'), (name) =>
    String(months.split('|').indexOf(name) + 1),
  )
  return numbered.split(',').every((item) => monthsOf(item).every((each) => firstDay > daysIn(each)))
}

function monthsOf(item: string): readonly number[] {
  const [range = '', step = '1'] = item.split('/')
  const [first = 1, last = first] = range === '*' ? [1, 12] : range.split('-').map(Number)
  const all = Array.from({ length: last - first + 1 }, (_, place) => first + place)
  return all.filter((_, place) => place % Number(step) === 0)
}

/** In a leap year. */
const daysIn = (month: number) => new Date(Date.UTC(2000, month, 0)).getUTCDate()

/** The first due time after another one; undefined: there is none. */
export function dueAfter(rule: CronRule, time: Date): Date | undefined {
  return nextOf(rule)(time)
}

/** As cron does it: a rule without * in its minute and hour has fixed times, each due once a day. */
function nextOf(rule: CronRule): (time: Date) => Date | undefined {
  const pattern = patternOf(rule)
  const clock = new WallClock(zoneOf(rule.timezone))
  const nextShown = (shown: number) => pattern.nextRun(new Date(shown))?.getTime()
  const isFixed = !rule.cron.split(/\s+/).slice(0, 2).join().includes('*') && !/^@hourly$/i.test(rule.cron)
  const nextAfter = isFixed ? nextFixed : nextShownAfter
  return (date) => {
    const time = date.getTime()
    const next = nextAfter(clock, nextShown, time, clock.offsetAt(time))
    return next === undefined ? undefined : new Date(next)
  }
}

type NextShown = (shown: number) => number | undefined

/** A time that is left out when the clock is set forward is due then; one that comes twice is due the first time. */
function nextFixed(
  clock: WallClock,
  nextShown: NextShown,
  after: number,
  offset: number,
): number | undefined {
  for (let shown = nextShown(after + offset); shown !== undefined; shown = nextShown(shown)) {
    const { time } = clock.firstTime(shown)
    if (time > after) return time
  }
  return undefined
}

/** Whenever the clock shows it. `offset`: of the clock right after that time. */
function nextShownAfter(
  clock: WallClock,
  nextShown: NextShown,
  after: number,
  offset: number,
): number | undefined {
  const goOn = (setAt: number) => nextShownAfter(clock, nextShown, setAt - 1, clock.offsetAt(setAt))
  const shown = nextShown(after + offset)
  const soon = Math.min(shown === undefined ? Number.POSITIVE_INFINITY : shown - offset, after + reachMs)
  if (clock.offsetAt(soon) !== offset) return goOn(clock.setAfter(after, soon, offset))
  if (shown === undefined) return undefined
  if (shown - offset === soon) return soon
  const { time, isLeftOut } = clock.firstTime(shown)
  return isLeftOut ? goOn(time) : time
}

/** Its times are those that a clock shows, as if it showed UTC. */
function patternOf({ cron }: CronRule): Cron {
  try {
    return new Cron(cron, { timezone: 'UTC', mode: '5-part' })
  } catch (error) {
    const reason = (error as Error).message.replace(/^CronPattern: /, '')
    throw errors.scheduleInvalid(`cron must have five fields, or be a word such as @daily: ${reason}`)
  }
}

/** Normalises the spelling of a time zone, because the cache keeps an entry for each spelling. */
function zoneOf(timezone: string): string {
  return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone
}

/**
 * The due times from `first` until now, the oldest first, limited in number, and the due time that follows them. Found
 * over several turns of the event loop.
 */
export async function dueTimes(
  rule: CronRule,
  first: Date,
  now: Date,
  most: number,
): Promise<Readonly<{ due: readonly Date[]; next: Date | undefined }>> {
  const nextAfter = nextOf(rule)
  const due: Date[] = []
  let next: Date | undefined = first
  while (next && next <= now && due.length < most) {
    due.push(next)
    next = nextAfter(next)
    if (due.length % 10 === 0) await nextTurn()
  }
  return { due, next }
}
