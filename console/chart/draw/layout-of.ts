import type { ChartData, ChartLabel } from '../read/chart-data.ts'
import type { ChartKey, Layout, PlotBox, Size } from './layout.ts'
import { labelledParts, piePlot } from './pie-layout.ts'
import { labelTicks } from './place-ticks.ts'
import { cutTo, widest, widthOf } from './text.ts'
import { numberScale, type Scale } from './ticks.ts'
import { areWhole, shownValue, valueExtent } from './values.ts'

const lineHeight = 17
const edge = 12

/** `top` pixels are left free, for a title. */
export function layoutOf(data: ChartData, size: Size, top = 0): Layout {
  if (data.kind === 'pie') return pieLayout(data, size, top)
  const legend = legendOf(data, size.width, top + 6)
  const below = legend.length > 0 ? legend.at(-1)!.y + 14 : top + 6
  return lies(data) ? rowsLayout(data, size, legend, below) : columnsLayout(data, size, legend, below)
}

/** Bars with names are horizontal, so that long names can be read. */
const lies = ({ kind, x }: ChartData) =>
  x.form === 'names' && !x.areNumbers && (kind === 'bar' || kind === 'stacked')

function legendOf({ series }: ChartData, width: number, top: number): ChartKey[] {
  if (series.length < 2) return []
  let [x, y] = [edge, top + 8]
  return series.map(({ label }, at) => {
    const text = cutTo(label.text, Math.min(180, width - 60))
    const wide = 26 + widthOf(text) + 16
    if (x > edge && x + wide > width) [x, y] = [edge, y + lineHeight]
    const entry = { x, y, text, isSaid: label.isSaid, series: at }
    x += wide
    return entry
  })
}

function columnsLayout(data: ChartData, size: Size, legend: readonly ChartKey[], top: number): Layout {
  const [low, high] = valueExtent(data)
  const upper = top + 22
  const lower = Math.max(upper + 80, size.height - 52)
  const scale = numberScale(low, high, Math.max(2, Math.floor((lower - upper) / 42)), areWhole(data))
  const left = Math.min(size.width * 0.4, edge + 6 + widest(scale.ticks.map(({ lines }) => lines[0]!)))
  const plot = { left, top: upper, right: Math.max(left + 40, size.width - edge - 6), bottom: lower }
  const valueAt = (y: number) => plot.bottom - ((y - scale.low) / (scale.high - scale.low)) * (lower - upper)
  const place = placesOf(data, plot)
  return {
    size: { width: size.width, height: Math.max(size.height, lower + 52) },
    plot,
    form: 'columns',
    legend,
    valueAt,
    ...place,
    valueTicks: scale.ticks,
    placeTicks: labelTicks(data, plot.right - left, place.placeAt, place.range),
  }
}

type Placing = Pick<Layout, 'placeAt' | 'band'> & Readonly<{ range: readonly [number, number] }>

function placesOf({ x, series, kind }: ChartData, { left, right }: PlotBox): Placing {
  if (x.form !== 'line') {
    const count = x.form === 'names' ? x.labels.length : x.edges.length - 1
    const band = (right - left) / Math.max(1, count)
    return { band, placeAt: (at) => left + (at + 0.5) * band, range: [0, count] }
  }
  const [low, high] = spread(
    series.flatMap(({ x }) => (x.length > 0 ? [x[0]!, x.at(-1)!] : [])),
    x.type,
  )
  const range = x.type === 'number' ? roundRange(low, high, kind) : ([low, high] as const)
  const placeAt = (value: number) => left + ((value - range[0]) / (range[1] - range[0])) * (right - left)
  return { band: 0, placeAt, range }
}

/** Points of a scatter chart are not cut by the axes. */
function roundRange(low: number, high: number, kind: string): readonly [number, number] {
  if (kind !== 'scatter') return [low, high]
  const scale: Scale = numberScale(low, high, 8)
  return [scale.low, scale.high]
}

/** A single value gets room on both sides: half a day, or one. */
function spread(ends: readonly number[], type: 'number' | 'time'): [number, number] {
  const [low, high] = [Math.min(...ends), Math.max(...ends)]
  if (low < high) return [low, high]
  const room = type === 'time' ? 43_200_000 : Math.max(1, Math.abs(low) * 1e-9)
  return [low - room, high + room]
}

function rowsLayout(data: ChartData, size: Size, legend: readonly ChartKey[], top: number): Layout {
  const labels: readonly ChartLabel[] = data.x.form === 'names' ? data.x.labels : []
  const beside = data.kind === 'bar' ? data.series.length : 1
  const band = Math.max(24, beside * 11 + 8)
  const [low, high] = valueExtent(data)
  const heading = Math.min(140, widthOf(`${data.xName}: ${data.yName}`) + 8)
  const names = Math.min(
    size.width * 0.4,
    Math.max(heading, widest(labels.map(({ text }) => text.slice(0, 60))) + 4),
  )
  const figures = beside === 1 && data.kind === 'bar' ? widest(valueTexts(data)) + 10 : 0
  const left = edge + names + figures + 8
  const plot = {
    left,
    top: top + 22,
    right: Math.max(left + 40, size.width - edge - 10),
    bottom: top + 22 + band * labels.length,
  }
  const scale = numberScale(low, high, Math.max(1, Math.floor((plot.right - left) / 70)), areWhole(data))
  const wide = plot.right - left
  return {
    size: { width: Math.max(size.width, plot.right + edge), height: plot.bottom + 10 },
    plot,
    form: 'rows',
    legend,
    valueAt: (y) => left + ((y - scale.low) / (scale.high - scale.low)) * wide,
    placeAt: (at) => plot.top + (at + 0.5) * band,
    band,
    valueTicks: scale.ticks,
    placeTicks: labels.map(({ text }, at) => ({ at, lines: [cutTo(text, names)] })),
  }
}

const valueTexts = ({ series }: ChartData) => [...(series[0]?.y ?? [])].map(shownValue)

function pieLayout(data: ChartData, size: Size, top: number): Layout {
  const plot = piePlot(size, top, labelledParts(data).length)
  return {
    size: { width: size.width, height: Math.max(size.height, plot.height) },
    plot: plot.box,
    form: 'pie',
    legend: labelledParts(data).map(({ text, isSaid }, at) => ({
      x: plot.legend.x,
      y: plot.legend.y + at * (lineHeight + 3),
      text: cutTo(text, size.width - plot.legend.x - 40),
      isSaid,
      series: at,
    })),
    valueAt: () => 0,
    placeAt: () => 0,
    band: 0,
    valueTicks: [],
    placeTicks: [],
  }
}
