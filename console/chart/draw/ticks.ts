import { numberText } from '../read/labels.ts'
import { niceStep } from '../read/ranges.ts'
import { type TimeStep, timeSteps } from '../read/time-steps.ts'

/** A place on an axis with its label of one or two lines. */
export type Tick = Readonly<{ at: number; lines: readonly string[] }>
export type Scale = Readonly<{ low: number; high: number; ticks: readonly Tick[] }>

/** From a round number at or below the smallest to one at or above the largest, with at most this many steps. */
export function numberScale(low: number, high: number, most: number, areWhole = false): Scale {
  const [from, to] = low < high ? [low, high] : apart(low)
  const step = Math.max(niceStep((to - from) / Math.max(1, most)), areWhole ? 1 : 0)
  const [first, last] = [Math.floor(from / step + 1e-9), Math.ceil(to / step - 1e-9)]
  const ticks = Array.from({ length: last - first + 1 }, (_, index): Tick => {
    const at = +((first + index) * step).toPrecision(12)
    return { at, lines: [tickText(at, step)] }
  })
  return { low: first * step, high: last * step, ticks }
}

const apart = (value: number): [number, number] =>
  value === 0 ? [0, 1] : value > 0 ? [value * 0.9, value * 1.1] : [value * 1.1, value * 0.9]

/** `20,000`, `1.5M`; `1e+20` beyond the last letter. */
export function tickText(value: number, step: number): string {
  const size = Math.abs(value)
  if (size >= 1e15 || (size > 0 && step < 1e-6)) return String(Number(value.toPrecision(6)))
  if (size < 1e6 || step < size / 10_000) return numberText(value)
  return value.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 6 })
}

/** Ticks at starts of years, months, days, ...: at most this many. */
export function timeTicks(low: number, high: number, most: number): readonly Tick[] {
  for (const step of timeSteps) {
    if ((high - low) / step.ms > most) continue
    const begins: number[] = []
    for (let at = step.floor(low); at <= high; at = step.next(at)) if (at >= low) begins.push(at)
    if (begins.length > 0) return timeLabels(begins, step.unit)
  }
  return timeLabels([low], 'day')
}

/** The second line has what the first leaves out, where it changes. */
export function timeLabels(times: readonly number[], unit: TimeStep['unit']): readonly Tick[] {
  let former = ''
  return times.map((at) => {
    const [first, second] = timeLines(at, unit)
    const isNew = second !== former
    former = second
    return { at, lines: isNew && second !== '' ? [first, second] : [first] }
  })
}

function timeLines(time: number, unit: TimeStep['unit']): readonly [string, string] {
  const iso = new Date(time).toISOString()
  const [day, clock] = [iso.slice(0, iso.indexOf('T')), iso.slice(iso.indexOf('T') + 1, -1)]
  const year = day.slice(0, -6).replace(/^\+0+/, '')
  if (unit === 'year') return [year, '']
  if (unit === 'month') return [`${year}-${day.slice(-5, -3)}`, '']
  if (unit === 'day') return [day.slice(-5), year]
  return [unit === 'minute' ? clock.slice(0, 5) : unit === 'second' ? clock.slice(0, 8) : clock, day]
}

/** The unit in which all edges are starts. */
export const unitOf = (edges: ArrayLike<number>): TimeStep['unit'] => {
  const all = Array.from(edges)
  const fits = (unit: TimeStep['unit']) =>
    timeSteps.some((step) => step.unit === unit && all.every((edge) => step.floor(edge) === edge))
  return (['year', 'month', 'day', 'minute', 'second'] as const).find(fits) ?? 'millisecond'
}
