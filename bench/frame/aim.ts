import type { Result } from './entry.ts'

/**
 * Whether the aim is met: `0.75 or less` and `0.9 or more` are about the ratio, `under 50 ms`, `below 3 s` and `under 30 MB` about our
 * median, `p95 under 2 s` about that percentile in the notes. Undefined: the aim is in words, for the reader to judge.
 */
export function meetsAim(result: Result): boolean | undefined {
  const [, bound, , direction] = /^([\d.]+)( \(.*\))? or (less|more)$/.exec(result.aim) ?? []
  if (bound) return direction === 'less' ? result.ratio <= Number(bound) : result.ratio >= Number(bound)
  const [, percentile, time, unit] =
    /^(?:(p\d+) )?(?:under|below) ([\d.]+) (ms|s|MB)\b/.exec(result.aim) ?? []
  if (!time) return undefined
  const measuredMs = percentile
    ? percentileMs(result.notes, percentile)
    : result.oursMedian * unitMs(result.unit)
  return measuredMs === undefined ? undefined : measuredMs < Number(time) * unitMs(unit!)
}

function percentileMs(notes: string, percentile: string): number | undefined {
  const [, value] = new RegExp(`\\b${percentile} ([\\d.]+) ms`).exec(notes) ?? []
  return value === undefined ? undefined : Number(value)
}

const unitMs = (unit: string) => (unit === 's' ? 1000 : 1)
