import type { ChartData } from '../read/chart-data.ts'
import { numberText } from '../read/labels.ts'
import { extent } from '../read/ranges.ts'

/** `–` if there is no value. */
export const shownValue = (value: number) => (Number.isNaN(value) ? '–' : numberText(value))

/** Whether the series are stacked. */
export const isStacked = ({ kind }: ChartData) => kind === 'stacked' || kind === 'histogram'

/** The smallest and the largest drawn value. Bars and areas begin at zero. */
export function valueExtent(data: ChartData): [number, number] {
  const ends = isStacked(data)
    ? stacks(data).flatMap(({ from, to }) => [from, to])
    : data.series.flatMap(({ y }) => extent(y.filter((value) => !Number.isNaN(value))))
  const finite = ends.filter(Number.isFinite)
  const isFromZero = data.kind !== 'line' && data.kind !== 'scatter'
  if (finite.length === 0) return [0, 1]
  const [low, high] = [Math.min(...finite), Math.max(...finite)]
  return isFromZero ? [Math.min(0, low), Math.max(0, high)] : [low, high]
}

/** Axes of integers have no fractions. Of very many values only the first are checked. */
export const areWhole = ({ series }: ChartData) =>
  series.every(({ y }) => y.slice(0, 2_000).every((value) => Number.isNaN(value) || Number.isInteger(value)))

/** A bar between two values. */
export type Bar = Readonly<{
  series: number
  at: number
  from: number
  to: number
  beside: number
  of: number
}>

/** Bars side by side. */
export const bars = ({ series }: ChartData): Bar[] =>
  series.flatMap(({ y }, one) =>
    [...y.keys()].flatMap((at) =>
      Number.isNaN(y[at]) ? [] : [{ series: one, at, from: 0, to: y[at]!, beside: one, of: series.length }],
    ),
  )

/** Stacked bars: values above zero upwards, values below downwards. */
export function stacks({ series }: ChartData): Bar[] {
  const [up, down] = [new Map<number, number>(), new Map<number, number>()]
  return series.flatMap(({ y }, one) =>
    [...y.keys()].flatMap((at) => {
      const value = y[at]!
      if (Number.isNaN(value) || value === 0) return []
      const side = value > 0 ? up : down
      const from = side.get(at) ?? 0
      side.set(at, from + value)
      return [{ series: one, at, from, to: from + value, beside: 0, of: 1 }]
    }),
  )
}
