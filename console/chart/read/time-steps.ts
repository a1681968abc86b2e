/** Units of time that people count in, in UTC, so that every day has 24 hours. */
export type TimeStep = Readonly<{
  name: string
  /** What a label of its start needs. */
  unit: 'year' | 'month' | 'day' | 'minute' | 'second' | 'millisecond'
  /** Approximately. */
  ms: number
  /** The start of the step that a time is in. */
  floor: (time: number) => number
  next: (begin: number) => number
}>

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
/** A Monday. */
const monday = Date.UTC(1970, 0, 5)

const fixed = (name: string, unit: TimeStep['unit'], ms: number, from = 0): TimeStep => ({
  name,
  unit,
  ms,
  floor: (time) => Math.floor((time - from) / ms) * ms + from,
  next: (begin) => begin + ms,
})

const ofMonths = (name: string, months: number): TimeStep => ({
  name,
  unit: months < 12 ? 'month' : 'year',
  ms: (months * 365.2425 * day) / 12,
  floor: (time) => beginOf(Math.floor(monthOf(time) / months) * months),
  next: (begin) => beginOf(monthOf(begin) + months),
})

function monthOf(time: number): number {
  const date = new Date(time)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** Date.UTC reads the years 0 to 99 as those of the 20th century. */
function beginOf(month: number): number {
  const date = new Date(0)
  date.setUTCFullYear(Math.floor(month / 12), month - Math.floor(month / 12) * 12)
  return date.getTime()
}

/** From the shortest to the longest. */
export const timeSteps: readonly TimeStep[] = [
  ...[1, 10, 100].map((ms) => fixed(`${ms} ms`, 'millisecond', ms)),
  fixed('second', 'second', second),
  ...[5, 15].map((count) => fixed(`${count} seconds`, 'second', count * second)),
  fixed('minute', 'minute', minute),
  ...[5, 15, 30].map((count) => fixed(`${count} minutes`, 'minute', count * minute)),
  fixed('hour', 'minute', hour),
  ...[3, 6, 12].map((count) => fixed(`${count} hours`, 'minute', count * hour)),
  fixed('day', 'day', day),
  fixed('week', 'day', 7 * day, monday),
  ofMonths('month', 1),
  ofMonths('quarter', 3),
  ofMonths('year', 12),
  ...[5, 10, 50, 100, 500, 1000].map((years) => ofMonths(`${years} years`, years * 12)),
]

const whole = ['year', 'month', 'day', 'hour', 'minute', 'second', '1 ms']

/** The longest of year, month, ..., millisecond that all times are starts of. */
export function commonStep(times: readonly number[]): TimeStep {
  const steps = whole.map((wanted) => timeSteps.find(({ name }) => name === wanted)!)
  return steps.find(({ floor }) => times.every((time) => floor(time) === time)) ?? timeSteps[0]!
}

/** The edges of steps from the first to the last time; undefined if there are more than `most` steps. */
export function edgesOf(step: TimeStep, first: number, last: number, most: number): number[] | undefined {
  const edges = [step.floor(first)]
  while (edges.at(-1)! <= last) {
    if (edges.length > most) return undefined
    edges.push(step.next(edges.at(-1)!))
  }
  return edges
}
