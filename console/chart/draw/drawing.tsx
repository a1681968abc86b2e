import type { ChartData } from '../read/chart-data.ts'
import { ColumnAxes, RowAxes, saidStyle } from './axes.tsx'
import type { Layout } from './layout.ts'
import { dashes, type Palette } from './palette.ts'
import { type Fill, fillOf, Patterns } from './patterns.tsx'
import { partsOf } from './pie-layout.ts'
import { linePath, markPaths, partPath, shapeAt } from './shapes.ts'
import { useSteps } from './steps.ts'
import { chartFont, textSize } from './text.ts'
import { type Bar, bars, isStacked, stacks } from './values.ts'

type DrawingProps = Readonly<{
  data: ChartData
  layout: Layout
  palette: Palette
  /** The id of this drawing in its document. */
  id: string
  /** The heading of a saved picture: the title, and what was left out. */
  heading?: readonly string[]
  /** On the screen the points of a cloud appear one after the other: 100,000 at once would block the page. */
  isInSteps?: boolean
}>

/** A chart as self-contained SVG: no styles, no script, no other file. */
export function Drawing({ data, layout, palette, id, heading = [], isInSteps = false }: DrawingProps) {
  const { width, height } = layout.size
  const fill = fillOf(id)
  const Axes = layout.form === 'rows' ? RowAxes : ColumnAxes
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      font-family={chartFont}
      font-size={textSize}
      aria-hidden="true"
    >
      <Patterns
        id={id}
        palette={palette}
        count={layout.form === 'pie' ? layout.legend.length : data.series.length}
      />
      {heading.length > 0 && <rect width={width} height={height} fill={palette.ground} />}
      {heading.map((line, at) => (
        <text
          key={line}
          x={12}
          y={20 + at * 17}
          fill={at === 0 ? palette.text : palette.muted}
          font-weight={at === 0 ? 600 : 400}
        >
          {line}
        </text>
      ))}
      {layout.form !== 'pie' && <Axes {...{ data, layout, palette }} />}
      <Marks {...{ data, layout, palette, fill, isInSteps }} />
      <Legend {...{ data, layout, palette, fill }} />
    </svg>
  )
}

type MarksProps = Readonly<{ data: ChartData; layout: Layout; palette: Palette; fill: Fill }>

function Marks({ isInSteps, ...props }: MarksProps & Readonly<{ isInSteps: boolean }>) {
  const { data, layout, palette, fill } = props
  const { kind, series } = data
  if (kind === 'pie')
    return (
      <g stroke={palette.ground} stroke-width="1.5">
        {partsOf(data).map(({ at, from, to }) => (
          <path key={at} d={partPath(layout.plot, from, to)} fill={fill(at)} />
        ))}
      </g>
    )
  if (kind === 'line' || kind === 'area') return <Lines {...props} />
  if (kind === 'scatter')
    return isInSteps ? (
      <CloudInSteps {...props} />
    ) : (
      <Cloud {...props} paths={[...cloudPaths(series, layout)]} />
    )
  return (
    <>
      {(isStacked(data) ? stacks(data) : bars(data)).map((bar) => (
        <BarRect
          key={`${bar.series} ${bar.at}`}
          bar={bar}
          layout={layout}
          fill={fill}
          isFull={kind === 'histogram'}
        />
      ))}
    </>
  )
}

type CloudPath = Readonly<{ at: number; path: string }>

function* cloudPaths(series: ChartData['series'], layout: Layout): Generator<CloudPath> {
  for (const [at, one] of series.entries()) for (const path of markPaths(one, at, layout)) yield { at, path }
}

function CloudInSteps(props: MarksProps) {
  const { data, layout } = props
  return <Cloud {...props} paths={useSteps(() => cloudPaths(data.series, layout), [data, layout])} />
}

function Cloud({ data, palette, paths }: MarksProps & Readonly<{ paths: readonly CloudPath[] }>) {
  return (
    <>
      {data.series.map((_, series) => (
        <g key={series} fill={palette.series[series]} fill-opacity="0.75">
          {paths.map(({ at, path }, part) => at === series && <path key={part} d={path} />)}
        </g>
      ))}
    </>
  )
}

/** Lines with few points have a mark at each. */
const mostMarks = 60

function Lines({ data: { series, kind }, layout, palette }: MarksProps) {
  const foot = layout.valueAt(0)
  return (
    <>
      {series.map((one, at) => (
        <g key={at}>
          {kind === 'area' && (
            <path d={linePath(one, layout, foot)} fill={palette.series[at]} fill-opacity="0.22" />
          )}
          <path
            d={linePath(one, layout)}
            fill="none"
            stroke={palette.series[at]}
            stroke-width="1.75"
            stroke-linejoin="round"
            stroke-dasharray={dashes[at % dashes.length] || undefined}
          />
          {one.x.length <= mostMarks &&
            [...markPaths(one, at, layout)].map((path, part) => (
              <path key={part} d={path} fill={palette.series[at]} />
            ))}
        </g>
      ))}
    </>
  )
}

type RectProps = Readonly<{ bar: Bar; layout: Layout; fill: Fill; isFull: boolean }>

function BarRect({ bar: { series, at, from, to, beside, of }, layout, fill, isFull }: RectProps) {
  const { band, form, placeAt, valueAt } = layout
  const room = isFull ? band - 1 : Math.max(band * 0.82, band - 8)
  const wide = Math.max(0.5, room / of - (of > 1 && room / of > 4 ? 1 : 0))
  const side = placeAt(at) - room / 2 + (room / of) * beside
  const [one, other] = [valueAt(from), valueAt(to)]
  const [low, long] = [Math.min(one, other), Math.max(Math.abs(one - other), 0.75)]
  return form === 'rows' ? (
    <rect x={low} y={side} width={long} height={wide} fill={fill(series)} />
  ) : (
    <rect x={side} y={low} width={wide} height={long} fill={fill(series)} />
  )
}

function Legend({ data: { kind }, layout: { legend }, palette, fill }: MarksProps) {
  const isLine = kind === 'line' || kind === 'area'
  return (
    <g fill={palette.text}>
      {legend.map(({ x, y, text, isSaid, series }) => (
        <g key={series}>
          {isLine && (
            <path
              d={`M${x} ${y}h20`}
              stroke={palette.series[series]}
              stroke-width="2"
              stroke-dasharray={dashes[series % dashes.length] || undefined}
            />
          )}
          {isLine || kind === 'scatter' ? (
            <path d={shapeAt(series, x + 10, y)} fill={palette.series[series]} />
          ) : (
            <rect x={x + 4} y={y - 6} width="14" height="12" fill={fill(series)} />
          )}
          <text x={x + 26} y={y + 4} {...saidStyle(isSaid)}>
            {text}
          </text>
        </g>
      ))}
    </g>
  )
}
