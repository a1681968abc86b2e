import type { ChartData, ChartLabel } from '../read/chart-data.ts'
import type { PlotBox, Size } from './layout.ts'
import { shownValue } from './values.ts'

export type Part = Readonly<{ at: number; from: number; to: number }>

/** The parts of a circle, as shares of 1 from the top clockwise. */
export function partsOf({ series }: ChartData): Part[] {
  const values = Array.from(series[0]!.y, (value) => (Number.isNaN(value) ? 0 : value))
  const total = values.reduce((sum, value) => sum + value, 0)
  let from = 0
  return values.map((value, at) => {
    const part = { at, from, to: from + value / total }
    from = part.to
    return part
  })
}

/** `Rome 375,000 (83 %)` */
export function labelledParts(data: ChartData): ChartLabel[] {
  const labels = data.x.form === 'names' ? data.x.labels : []
  return partsOf(data).map(({ at, from, to }) => {
    const { text, isSaid } = labels[at]!
    const short = text.length > 60 ? `${[...text].slice(0, 59).join('')}…` : text
    return { text: `${short} ${shownValue(data.series[0]!.y[at]!)} (${percent(to - from)})`, isSaid }
  })
}

export const percent = (share: number) =>
  `${(100 * share).toLocaleString('en-US', { maximumSignificantDigits: share < 0.1 ? 2 : 3 })} %`

/** The names are beside the circle, or below it if there is no room. */
export function piePlot({ width, height }: Size, top: number, parts: number) {
  const isBeside = width >= 480
  const names = parts * 20 + 16
  const wide = isBeside
    ? Math.min(height - top - 24, width * 0.5)
    : Math.min(width - 40, height - top - names - 24)
  const diameter = Math.max(120, wide)
  const [left, upper] = isBeside ? [24, top + 12] : [(width - diameter) / 2, top + 12]
  const box: PlotBox = { left, top: upper, right: left + diameter, bottom: upper + diameter }
  const legend = isBeside
    ? { x: box.right + 28, y: upper + Math.max(12, (diameter - names) / 2) }
    : { x: 12, y: box.bottom + 22 }
  return { box, legend, height: Math.max(box.bottom + 12, legend.y + names) }
}
