import type { Result } from './entry.ts'

/**
 * Whether the aim is met: `0.75 or less` and `0.9 or more` concern the ratio, `3 ms or less` and `under 30 MB` our
 * median, `p95 under 2 s` that percentile in the notes; `and` joins two of them. Undefined: the aim is in words, for
 * the reader to judge.
 */
export function meetsAim(result: Result): boolean | undefined {
  const verdicts = result.aim.split(' and ').map((aim) => meetsOne(result, aim))
  return verdicts.includes(undefined) ? undefined : !verdicts.includes(false)
}

function meetsOne(result: Result, aim: string): boolean | undefined {
  const [, bound, , direction] = /^([\d.]+)( \(.*\))? or (less|more)$/.exec(aim) ?? []
  if (bound) return direction === 'less' ? result.ratio <= Number(bound) : result.ratio >= Number(bound)
  const [, percentile, most, unit] = /^(?:(p\d+) )?(?:under |below )?([\d.]+) (ms|s|MB)\b/.exec(aim) ?? []
  if (!most) return undefined
  const measured = percentile
    ? percentileMs(result.notes, percentile)
    : result.oursMedian * unitMs(result.unit)
  return measured === undefined ? undefined : measured <= Number(most) * unitMs(unit!)
}

function percentileMs(notes: string, percentile: string): number | undefined {
  const [, value] = new RegExp(`\\b${percentile} ([\\d.]+) ms`).exec(notes) ?? []
  return value === undefined ? undefined : Number(value)
}

const unitMs = (unit: string) => (unit === 's' ? 1000 : 1)

/** If the pairs differ this much, the machine did other work too, and their median means nothing. */
export function isTooNoisy({ ratioMin, ratioMax }: Result): boolean {
  return ratioMax / ratioMin > 1.5
}
