import { aggregateOf, type ChartDefinition } from '../../../src/contract/charts.ts'

/** What a chart shows, in words: `sum of n by city and kind`. */
export function titleOf(spec: ChartDefinition): string {
  const { kind, x, y = [], series } = spec
  const aggregate = aggregateOf(spec)
  if (kind === 'histogram') return `distribution of ${x}${series === undefined ? '' : ` by ${series}`}`
  const figure = aggregate === 'count' ? 'count' : aggregate === 'none' ? and(y) : `${aggregate} of ${and(y)}`
  return `${figure} by ${and(series === undefined ? [x] : [x, series])}`
}

const and = (names: readonly string[]) =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
