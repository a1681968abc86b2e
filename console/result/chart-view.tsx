import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import chartCss from 'uplot/dist/uPlot.min.css' with { type: 'text' }
import { Choice } from '../parts/choice.tsx'
import { formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { adoptStyles } from '../parts/styles.ts'
import { colourOf, shownTheme } from '../parts/theme.ts'
import type { NumberColumns } from './protocol.ts'
import type { Result } from './result.ts'

adoptStyles(chartCss)

type Kind = 'line' | 'bars' | 'points'

const mostPoints = 100_000
const kinds: readonly Kind[] = ['line', 'bars', 'points']

/** Two columns, or three, of a result against each other. */
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
  const [y, setY] = useState(numbers.find(({ at }) => at !== x)?.at ?? numbers[0]?.at ?? -1)
  const chosen = [x, y]
  const data = useLoaded(
    () => result.ask('numbers', { columns: chosen, most: mostPoints }),
    [result, rows, x, y],
  )
  if (drawable.length === 0 || y < 0) return <Empty>A chart needs a column of numbers.</Empty>
  return (
    <div class="map-view">
      <div class="map-bar">
        <label>
          As{' '}
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}>
            {kinds.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <Choice label="of" value={y} options={numbers} choose={(at) => setY(at ?? y)} />
        <Choice label="by" value={x} options={drawable} choose={(at) => setX(at ?? x)} />
        {data.value && data.value.step > 1 && (
          <span class="small muted">
            every {formatCount(data.value.step)}th row of {formatCount(rows)}
          </span>
        )}
      </div>
      <Load from={data}>
        {(found) => (
          <Chart
            kind={kind}
            data={found}
            isTime={columns[x]?.type === 'date'}
            names={chosen.map((at) => columns[at]?.name ?? '')}
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
      height: Math.max(160, holder.clientHeight - 34),
    })
    const chart = new uPlot({ ...size(), ...optionsOf(kind, isTime, names) }, sorted(data), holder)
    const observer = new ResizeObserver(() => chart.setSize(size()))
    observer.observe(holder)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
  }, [kind, data, isTime, names.join('\n'), colours])
  return <div class="chart" ref={container} role="img" aria-label={`Chart of ${names[1]} by ${names[0]}`} />
}

function optionsOf(
  kind: Kind,
  isTime: boolean,
  names: readonly string[],
): Omit<uPlot.Options, 'width' | 'height'> {
  const [line, text] = [colourOf('line'), colourOf('muted')]
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
  const accent = colourOf('accent')
  const bars = uPlot.paths.bars?.({ size: [0.8, 60] })
  return {
    scales: { x: { time: isTime } },
    axes: [axis, { ...axis, size: 70 }],
    series: [
      { label: names[0] ?? '' },
      {
        label: names[1] ?? '',
        stroke: accent,
        width: kind === 'points' ? 0 : 1.5,
        points: { show: kind === 'points', size: 5, fill: accent },
        ...(kind === 'bars' && bars ? { paths: bars, fill: accent } : {}),
      },
    ],
  }
}

/** A chart is drawn from left to right, whatever the order of the rows; points without an x are left out. */
function sorted({ columns: [x, y] }: NumberColumns): uPlot.AlignedData {
  const order = Array.from(x!, (_, at) => at)
    .filter((at) => !Number.isNaN(x![at]))
    .sort((a, b) => x![a]! - x![b]!)
  const values = order.map((at) => (Number.isNaN(y![at]) ? null : y![at]!))
  return [order.map((at) => x![at]!), values]
}
