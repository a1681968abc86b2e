import type { Layout, PlotBox } from './draw/layout.ts'
import { partsOf, percent } from './draw/pie-layout.ts'
import { shownValue } from './draw/values.ts'
import type { ChartData, ChartSeries, ChartX } from './read/chart-data.ts'
import { placeText, timeText } from './read/labels.ts'

/** What the pointer or the keyboard is at: a bar with all its series, a part, or one point. */
export type Place = Readonly<{ series: number; at: number }>
export type Spot = Readonly<{
  /** Where the tooltip points to. */
  x: number
  y: number
  /** The marked area. */
  box: PlotBox
  title: string
  values: readonly Readonly<{ label: string; value: string }>[]
}>

const isOfPoints = ({ x }: ChartData) => x.form === 'line'

export function spotAt(data: ChartData, layout: Layout, { series, at }: Place): Spot {
  if (layout.form === 'pie') return partSpot(data, layout, at)
  const title = placeTitle(data, isOfPoints(data) ? data.series[series]!.x[at]! : at)
  if (!isOfPoints(data)) return { ...bandSpot(data, layout, at), title, values: valuesAt(data.series, at) }
  const one = data.series[series]!
  const [x, y] = [layout.placeAt(one.x[at]!), layout.valueAt(one.y[at]!)]
  const box = { left: x - 6, top: y - 6, right: x + 6, bottom: y + 6 }
  return { x, y, box, title, values: [{ label: one.label.text, value: shownValue(one.y[at]!) }] }
}

const valuesAt = (series: readonly ChartSeries[], at: number) =>
  series
    .filter(({ y }) => series.length === 1 || !Number.isNaN(y[at]))
    .map(({ label, y }) => ({ label: label.text, value: shownValue(y[at]!) }))

function bandSpot({ series }: ChartData, layout: Layout, at: number) {
  const { plot, band, placeAt, valueAt, form } = layout
  const middle = placeAt(at)
  if (form === 'rows')
    return {
      x: Math.min(plot.right, Math.max(plot.left + 8, valueAt(Math.max(0, series[0]!.y[at] || 0)))),
      y: middle,
      box: { left: plot.left, top: middle - band / 2, right: plot.right, bottom: middle + band / 2 },
    }
  const box = { left: middle - band / 2, top: plot.top, right: middle + band / 2, bottom: plot.bottom }
  return { x: middle, y: plot.top + (plot.bottom - plot.top) / 3, box }
}

function partSpot(data: ChartData, { plot }: Layout, at: number): Spot {
  const { from, to } = partsOf(data)[at]!
  const radius = (plot.right - plot.left) / 2
  const angle = Math.PI * (from + to)
  const [x, y] = [
    (plot.left + plot.right) / 2 + Math.sin(angle) * radius * 0.7,
    (plot.top + plot.bottom) / 2 - Math.cos(angle) * radius * 0.7,
  ]
  const value = `${shownValue(data.series[0]!.y[at]!)} (${percent(to - from)})`
  const box = { left: x - 6, top: y - 6, right: x + 6, bottom: y + 6 }
  return { x, y, box, title: placeTitle(data, at), values: [{ label: data.yName, value }] }
}

/** The value on the x axis in words. */
export const placeTitle = ({ x }: Pick<ChartData, 'x'>, at: number): string =>
  x.form === 'names'
    ? x.labels[at]!.text
    : x.form === 'ranges'
      ? rangeText(x, at)
      : x.type === 'time'
        ? timeText(at, x.hasZone)
        : placeText(at)

function rangeText({ edges, type, hasZone }: Extract<ChartX, { form: 'ranges' }>, at: number): string {
  const [from, to] = [edges[at]!, edges[at + 1]!]
  if (type === 'number') return `${placeText(from)} to below ${placeText(to)}`
  return to - from === 86_400_000
    ? timeText(from, false)
    : `${timeText(from, false)} to before ${timeText(to, hasZone)}`
}

/** The place nearest to the pointer; undefined outside the chart. */
export function placeNear(data: ChartData, layout: Layout, x: number, y: number): Place | undefined {
  if (layout.form === 'pie') return partNear(data, layout.plot, x, y)
  const { plot, band, form, placeAt } = layout
  if (isOfPoints(data)) return pointNear(data, layout, x, y)
  const along = form === 'rows' ? y - placeAt(0) : x - placeAt(0)
  const at = Math.round(along / band)
  const count = data.series[0]!.y.length
  const isInside = form === 'rows' ? x <= plot.right + 20 : y >= plot.top - 10 && y <= plot.bottom + 30
  return isInside && at >= 0 && at < count ? { series: 0, at } : undefined
}

function partNear(
  data: ChartData,
  { left, top, right, bottom }: PlotBox,
  x: number,
  y: number,
): Place | undefined {
  const [dx, dy] = [x - (left + right) / 2, y - (top + bottom) / 2]
  if (Math.hypot(dx, dy) > (right - left) / 2) return undefined
  const share = (Math.atan2(dx, -dy) / (2 * Math.PI) + 1) % 1
  const part = partsOf(data).find(({ from, to }) => share >= from && share < to)
  return part && { series: 0, at: part.at }
}

function pointNear(
  { series }: ChartData,
  { placeAt, valueAt }: Layout,
  x: number,
  y: number,
): Place | undefined {
  let found: Place | undefined
  let least = 60 ** 2
  series.forEach((one, index) => {
    for (let at = 0; at < one.x.length; at++) {
      const far = (placeAt(one.x[at]!) - x) ** 2 + (valueAt(one.y[at]!) - y) ** 2
      if (far < least) {
        least = far
        found = { series: index, at }
      }
    }
  })
  return found
}

/** The place after a key press; undefined for other keys. */
export function placeAfter(data: ChartData, from: Place | undefined, key: string): Place | undefined {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key]
  if (step === undefined && key !== 'Home' && key !== 'End') return undefined
  const start = from ?? { series: 0, at: step === -1 ? data.series[0]!.y.length : -1 }
  if (isOfPoints(data) && (key === 'ArrowUp' || key === 'ArrowDown') && data.series.length > 1)
    return otherSeries(data, start, step!)
  const { y } = data.series[start.series]!
  const hasValue = (at: number) => !isOfPoints(data) || !Number.isNaN(y[at])
  const way = key === 'End' ? -1 : key === 'Home' ? 1 : step!
  let at = key === 'Home' ? 0 : key === 'End' ? y.length - 1 : start.at + way
  while (at >= 0 && at < y.length && !hasValue(at)) at += way
  return at >= 0 && at < y.length ? { series: start.series, at } : from
}

/** The point of another series that is nearest on the x axis. */
function otherSeries({ series }: ChartData, { series: former, at }: Place, step: number): Place {
  const next = (former + step + series.length) % series.length
  const wanted = series[former]!.x[Math.max(0, at)] ?? 0
  const { x, y } = series[next]!
  let best = 0
  for (let place = 0; place < x.length; place++) {
    const isNearer = Math.abs(x[place]! - wanted) < Math.abs(x[best]! - wanted) || Number.isNaN(y[best])
    if (isNearer && !Number.isNaN(y[place])) best = place
  }
  return { series: next, at: best }
}
