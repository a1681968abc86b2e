import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import chartCss from 'uplot/dist/uPlot.min.css' with { type: 'text' }
import { adoptStyles } from '../parts/browser/styles.ts'
import { colourOf, shownTheme } from '../parts/browser/theme.ts'
import type { NumberColumns } from './worker/protocol.ts'

adoptStyles(chartCss)

export type PlotKind = 'line' | 'bars' | 'points'
export type PlotData = NumberColumns & Readonly<{ names: readonly string[] }>

type PlotProps = Readonly<{ kind: PlotKind; data: PlotData; isTime: boolean }>

/** One or two columns of numbers over another one. */
export function Plot({ kind, data, isTime }: PlotProps) {
  const container = useRef<HTMLDivElement>(null)
  const colours = shownTheme.value
  const { names } = data
  useEffect(() => {
    const holder = container.current!
    const size = () => ({
      width: Math.max(200, holder.clientWidth),
      height: Math.max(120, holder.clientHeight - 34),
    })
    const rows = sorted(data)
    const chart = new uPlot({ ...size(), ...optionsOf(kind, isTime, names, rows[0]!) }, rows, holder)
    const observer = new ResizeObserver(() => chart.setSize(size()))
    observer.observe(holder)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [kind, data, colours])
  return (
    <div
      class="chart"
      ref={container}
      role="img"
      aria-label={`Chart of ${names.slice(1).join(' and ')} by ${names[0]}`}
    />
  )
}

function optionsOf(
  kind: PlotKind,
  isTime: boolean,
  names: readonly string[],
  places: ArrayLike<number>,
): Omit<uPlot.Options, 'width' | 'height'> {
  const lines = { stroke: colourOf('line'), width: 1 }
  const axis = { stroke: colourOf('muted'), grid: lines, ticks: lines }
  const room = gapOf(places, isTime) / 2
  return {
    // The zone of the grid.
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales:
      kind === 'bars'
        ? {
            x: { time: isTime, range: (_chart, low, high) => [low - room, high + room] },
            y: { range: (_chart, low, high) => fromZero(low, high) },
          }
        : { x: { time: isTime } },
    axes: [isTime ? { ...axis, values: timeLabels } : axis, { ...axis, size: 70 }],
    series: names.map((label, at) => ({
      label,
      ...(isTime && at === 0 && { value: '{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}' }),
      ...drawnAs(kind, colourOf(at > 1 ? 'mark' : 'accent'), names.length > 2 ? ((at * 2 - 3) as 1 | -1) : 0),
    })),
  }
}

/** By the distance of two labels in seconds: the label, and below it what has changed since the one before. */
const timeLabels = [
  [31_536_000, '{YYYY}', null, null, null, null, null, null, 1],
  [2_419_200, '{YYYY}-{MM}', null, null, null, null, null, null, 1],
  [86_400, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [
    0.001,
    '{ss}.{fff}',
    '\n{YYYY}-{MM}-{DD} {HH}:{mm}',
    null,
    '\n{MM}-{DD} {HH}:{mm}',
    null,
    '\n{HH}:{mm}',
    null,
    1,
  ],
] satisfies uPlot.Axis.Values

/** uPlot does not draw the first series. Bars of two series stand side by side. */
const drawnAs = (kind: PlotKind, stroke: string, side: -1 | 0 | 1) => ({
  stroke,
  width: kind === 'line' ? 1.5 : 0,
  points: { show: kind === 'points', size: 5, fill: stroke },
  ...(kind === 'bars' && {
    fill: stroke,
    fillTo: 0,
    paths: uPlot.paths.bars!({ size: [side === 0 ? 0.8 : 0.4, 60], align: side }),
  }),
})

/** Bars begin at zero, with some room beyond the longest. */
function fromZero(low: number, high: number): [number, number] {
  const [from, to] = [Math.min(0, low), Math.max(0, high)]
  const room = (to - from || 1) * 0.05
  return [from < 0 ? from - room : 0, to > 0 ? to + room : from < 0 ? 0 : 1]
}

/** The least distance between two bars: the first and the last need half of it beyond them. */
function gapOf(places: ArrayLike<number>, isTime: boolean): number {
  let gap = Number.POSITIVE_INFINITY
  for (let at = 1; at < places.length; at++) {
    const distance = places[at]! - places[at - 1]!
    if (distance > 0) gap = Math.min(gap, distance)
  }
  return Number.isFinite(gap) ? gap : isTime ? 86_400 : 1
}

/** The rows ordered by x, as uPlot needs them. Rows without an x are left out. */
function sorted({ columns }: NumberColumns): uPlot.AlignedData {
  const x = columns[0]!
  const order = [...x.keys()].filter((at) => !Number.isNaN(x[at])).sort((a, b) => x[a]! - x[b]!)
  const inOrder = (values: Float64Array) => order.map((at) => (Number.isNaN(values[at]) ? null : values[at]!))
  return columns.map(inOrder) as uPlot.AlignedData
}
