import type { ChartData } from '../read/chart-data.ts'
import type { Layout } from './layout.ts'
import type { Palette } from './palette.ts'
import { cutTo, widthOf } from './text.ts'
import { shownValue } from './values.ts'

type AxesProps = Readonly<{ data: ChartData; layout: Layout; palette: Palette }>

/** Axes of standing bars, lines and points. */
export function ColumnAxes({ data, layout, palette }: AxesProps) {
  const { plot, valueTicks, placeTicks, valueAt, placeAt, size } = layout
  const zone = data.x.form !== 'names' && data.x.type === 'time' && data.x.hasZone ? ' (UTC)' : ''
  return (
    <g fill={palette.muted}>
      {valueTicks.map(({ at, lines }) => (
        <g key={at}>
          <path
            d={`M${plot.left} ${valueAt(at)}H${plot.right}`}
            stroke={at === 0 ? palette.muted : palette.line}
          />
          <text x={plot.left - 6} y={valueAt(at) + 4} text-anchor="end">
            {lines[0]}
          </text>
        </g>
      ))}
      {placeTicks.map(({ at, lines }) => (
        <g key={at}>
          <path d={`M${placeAt(at)} ${plot.bottom}v4`} stroke={palette.muted} />
          {lines.map((line, down) => (
            <text
              key={line}
              x={within(placeAt(at), line, size.width)}
              y={plot.bottom + 17 + down * 14}
              text-anchor="middle"
            >
              {line}
            </text>
          ))}
        </g>
      ))}
      <text x={12} y={plot.top - 10}>
        {cutTo(data.yName, plot.right - 12)}
      </text>
      <text x={plot.right} y={plot.bottom + 46} text-anchor="end">
        {cutTo(`${data.xName}${zone}`, plot.right - 12)}
      </text>
    </g>
  )
}

/** A label in the middle of its tick, but not cut by the edge of the picture. */
function within(place: number, text: string, width: number): number {
  const half = widthOf(text) / 2
  return Math.max(half + 2, Math.min(width - half - 2, place))
}

/** The names and values left of horizontal bars. */
export function RowAxes({ data, layout, palette }: AxesProps) {
  const { plot, valueTicks, placeTicks, valueAt, placeAt } = layout
  const labels = data.x.form === 'names' ? data.x.labels : []
  const isOne = data.series.length === 1 && data.kind === 'bar'
  return (
    <g fill={palette.text}>
      {valueTicks.map(({ at, lines }) => (
        <g key={at} fill={palette.muted}>
          <path
            d={`M${valueAt(at)} ${plot.top}V${plot.bottom}`}
            stroke={at === 0 ? palette.muted : palette.line}
          />
          <text x={valueAt(at)} y={plot.top - 6} text-anchor="middle">
            {lines[0]}
          </text>
        </g>
      ))}
      <text x={12} y={plot.top - 6} fill={palette.muted}>
        {cutTo(`${data.xName}: ${data.yName}`, plot.left - 24)}
      </text>
      {placeTicks.map(({ at, lines }) => (
        <g key={at}>
          <text x={12} y={placeAt(at) + 4} {...saidStyle(labels[at]!.isSaid)}>
            {lines[0]}
          </text>
          {isOne && (
            <text x={plot.left - 8} y={placeAt(at) + 4} text-anchor="end">
              {shownValue(data.series[0]!.y[at]!)}
            </text>
          )}
        </g>
      ))}
    </g>
  )
}

/** NULL and "others" are words of the chart, not names in the data. */
export const saidStyle = (isSaid: boolean) => (isSaid ? { 'font-style': 'italic' } : {})
