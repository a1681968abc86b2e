import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import chartCss from 'uplot/dist/uPlot.min.css' with { type: 'text' }
import { adoptStyles } from '../parts/browser/styles.ts'
import { colourOf, shownTheme } from '../parts/browser/theme.ts'
import { Choice } from '../parts/controls/choice.tsx'
import { formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import type { Result } from './result.ts'
import type { NumberColumns } from './worker/protocol.ts'

adoptStyles(chartCss)

type Kind = 'line' | 'bars' | 'points'

const mostPoints = 100_000
const kinds: readonly Kind[] = ['line', 'bars', 'points']

/** A chart of one or two columns of a result over another one. */
export default function ChartView({ result }: Readonly<{ result: Result }>) {
  const { columns, rows } = result.progress.value
  const drawable = columns.flatMap(({ type, name }, at) =>
    type === 'number' || type === 'date' ? [{ at, name }] : [],
  )
  const numbers = drawable.filter(({ at }) => columns[at]!.type === 'number')
  const [kind, setKind] = useState<Kind>('line')
  const [x, setX] = useState(
    (drawable.find(({ at }) => columns[at]!.type === 'date') ?? drawable[0])?.at ?? -1,
  )
  const [y, setY] = useState((numbers.find(({ at }) => at !== x) ?? numbers[0])?.at ?? -1)
  const [other, setOther] = useState<number | null>(null)
  const chosen = [x, y, ...(other === null ? [] : [other])]
  const data = useLoaded(
    async () => ({ chosen, ...(await result.ask('numbers', { columns: chosen, most: mostPoints })) }),
    [result, rows, x, y, other],
  )
  if (y < 0) return <Empty>A chart needs a numeric column.</Empty>
  return (
    <div class="map-view">
      <div class="map-bar">
        <Choice
          label="Chart type"
          value={kinds.indexOf(kind)}
          options={kinds.map((name, at) => ({ name, at }))}
          choose={(at) => setKind(kinds[at ?? 0]!)}
        />
        <Choice label="Y axis" value={y} options={numbers} choose={(at) => setY(at ?? y)} />
        <Choice label="Also" value={other} options={numbers} choose={setOther} none="none" />
        <Choice label="X axis" value={x} options={drawable} choose={(at) => setX(at ?? x)} />
        {data.value && data.value.step > 1 && (
          <span class="small muted">shows 1 of every {formatCount(data.value.step)} rows</span>
        )}
      </div>
      <Load from={data}>
        {(found) => (
          <Chart
            kind={kind}
            data={found}
            isTime={columns[found.chosen[0]!]?.type === 'date'}
            names={found.chosen.map((at) => columns[at]?.name ?? '')}
          />
        )}
      </Load>
    </div>
  )
}

type ChartProps = Readonly<{ kind: Kind; data: NumberColumns; isTime: boolean; names: readonly string[] }>

function Chart({ kind, data, isTime, names }: ChartProps) {
  const container = useRef<HTMLDivElement>(null)
  const colours = shownTheme.value
  useEffect(() => {
    const holder = container.current!
    const size = () => ({
      width: Math.max(200, holder.clientWidth),
      height: Math.max(120, holder.clientHeight - 34),
    })
    const chart = new uPlot({ ...size(), ...optionsOf(kind, isTime, names) }, sorted(data), holder)
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
  kind: Kind,
  isTime: boolean,
  names: readonly string[],
): Omit<uPlot.Options, 'width' | 'height'> {
  const lines = { stroke: colourOf('line'), width: 1 }
  const axis = { stroke: colourOf('muted'), grid: lines, ticks: lines }
  return {
    scales: { x: { time: isTime } },
    axes: [axis, { ...axis, size: 70 }],
    series: names.map((label, at) => ({ label, ...drawnAs(kind, colourOf(at > 1 ? 'mark' : 'accent')) })),
  }
}

/** uPlot does not draw the first series. Bars are outlines, so that they do not hide each other. */
const drawnAs = (kind: Kind, stroke: string) => ({
  stroke,
  width: kind === 'points' ? 0 : 1.5,
  points: { show: kind === 'points', size: 5, fill: stroke },
  ...(kind === 'bars' && { paths: uPlot.paths.bars!({ size: [0.8, 60] }) }),
})

/** The rows ordered by x, as uPlot needs them. Rows without an x are left out. */
function sorted({ columns }: NumberColumns): uPlot.AlignedData {
  const x = columns[0]!
  const order = [...x.keys()].filter((at) => !Number.isNaN(x[at])).sort((a, b) => x[a]! - x[b]!)
  const inOrder = (values: Float64Array) => order.map((at) => (Number.isNaN(values[at]) ? null : values[at]!))
  return columns.map(inOrder) as uPlot.AlignedData
}
