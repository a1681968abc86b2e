import { useState } from 'preact/hooks'
import { Choice } from '../parts/controls/choice.tsx'
import { formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { CategoryBars } from './category-bars.tsx'
import type { PlotData, PlotKind } from './plot.tsx'
import type { Result } from './result.ts'
import type { ResultLook } from './result-look.ts'
import {
  type GroupMeasure,
  type GroupOrder,
  groupMeasures,
  groupOrders,
  type ResultColumn,
} from './worker/protocol.ts'

const mostPoints = 100_000
const mostBars = 200
const kinds: readonly PlotKind[] = ['line', 'bars', 'points']

const listed = (names: readonly string[]) => names.map((name, at) => ({ name, at }))
const isPlotted = ({ type }: ResultColumn) => type === 'number' || type === 'date'

type Chosen = Readonly<{
  kind: PlotKind
  x: number
  y: number
  other: number | null
  measure: GroupMeasure | null
  order: GroupOrder
}>

/** A chart of a result: one or two columns over another one, or a sum, count or the like for each value of a column. */
export default function ChartView({ result, look }: Readonly<{ result: Result; look: ResultLook }>) {
  const { columns, rows } = result.progress.value
  const [chosen, choose] = useState(() => firstChoice(columns))
  const x = columns[chosen.x]
  if (!x) return <Empty>A chart needs a column that is not a geometry.</Empty>
  const isOfCategories = !isPlotted(x)
  const measure = chosen.measure ?? (chosen.y < 0 ? 'count' : isOfCategories ? 'sum' : null)
  const change = (some: Partial<Chosen>) => choose({ ...chosen, ...some })
  return (
    <div class="map-view">
      <div class="map-bar">
        {!isOfCategories && (
          <Choice
            label="Chart type"
            value={kinds.indexOf(chosen.kind)}
            options={listed(kinds)}
            choose={(at) => change({ kind: kinds[at ?? 0]! })}
          />
        )}
        <AxisChoices {...{ columns, chosen, change, measure, isOfCategories }} />
        {isOfCategories && (
          <Choice
            label="Order"
            value={groupOrders.indexOf(chosen.order)}
            options={listed(groupOrders)}
            choose={(at) => change({ order: groupOrders[at ?? 0]! })}
          />
        )}
        {look.isPart && (
          <span class="small muted">of the {formatCount(rows)} rows that are shown, not of all</span>
        )}
      </div>
      {isOfCategories ? (
        <Categories result={result} chosen={chosen} measure={measure ?? 'count'} />
      ) : (
        <Plotted result={result} chosen={chosen} measure={measure} />
      )}
    </div>
  )
}

type AxisProps = Readonly<{
  columns: readonly ResultColumn[]
  chosen: Chosen
  change: (some: Partial<Chosen>) => void
  measure: GroupMeasure | null
  isOfCategories: boolean
}>

function AxisChoices({ columns, chosen, change, measure, isOfCategories }: AxisProps) {
  const offered = columns.flatMap(({ type, name }, at) => (type === 'geometry' ? [] : [{ at, name }]))
  const numbers = offered.filter(({ at }) => columns[at]!.type === 'number')
  const measures: readonly string[] = isOfCategories ? groupMeasures : ['each row', ...groupMeasures]
  const chooseMeasure = (at: number | null) =>
    change({ measure: groupMeasures.find((name) => name === measures[at ?? 0]) ?? null })
  return (
    <>
      {numbers.length > 0 && (
        <Choice
          label="Show"
          value={measures.indexOf(measure ?? 'each row')}
          options={listed(measures)}
          choose={chooseMeasure}
        />
      )}
      {measure !== 'count' && (
        <Choice
          label="Y axis"
          value={chosen.y}
          options={numbers}
          choose={(y) => change({ y: y ?? chosen.y })}
        />
      )}
      {measure === null && (
        <Choice
          label="Also"
          value={chosen.other}
          options={numbers}
          choose={(other) => change({ other })}
          none="none"
        />
      )}
      <Choice
        label="X axis"
        value={chosen.x}
        options={offered}
        choose={(at) => change({ x: at ?? chosen.x })}
      />
    </>
  )
}

/** A date, else a text, else a number, with the first number over it. */
function firstChoice(columns: readonly ResultColumn[]): Chosen {
  const first = (isIt: (column: ResultColumn) => boolean, but = -1) =>
    columns.findIndex((column, at) => at !== but && isIt(column))
  const isNumber = ({ type }: ResultColumn) => type === 'number'
  const places = [
    first(({ type }) => type === 'date'),
    first((column) => !isPlotted(column) && column.type !== 'geometry'),
    first(isNumber),
  ]
  const x = places.find((at) => at >= 0) ?? -1
  const y = first(isNumber, x)
  return {
    kind: 'line',
    x,
    y: y >= 0 ? y : first(isNumber),
    other: null,
    measure: null,
    order: 'largest first',
  }
}

type PartProps = Readonly<{ result: Result; chosen: Chosen }>

function Categories({
  result,
  chosen: { x, y, order },
  measure,
}: PartProps & Readonly<{ measure: GroupMeasure }>) {
  const { rows, columns } = result.progress.value
  const of = measure === 'count' ? null : y
  const groups = useLoaded(
    () => result.ask('groups', { by: x, of, measure, order, most: mostBars }),
    [result, rows, x, of, measure, order],
  )
  const name = columns[x]!.name
  return (
    <Load from={groups}>
      {(found) => (
        <CategoryBars
          groups={found}
          name={name}
          measure={of === null ? 'count' : `${measure} of ${columns[of]?.name}`}
        />
      )}
    </Load>
  )
}

function Plotted({
  result,
  chosen: { kind, x, y, other },
  measure,
}: PartProps & Readonly<{ measure: GroupMeasure | null }>) {
  const { rows, columns } = result.progress.value
  const plot = useLoaded(() => import('./plot.tsx'), [])
  const drawn = [x, y, ...(other === null ? [] : [other])]
  const isTime = columns[x]!.type === 'date'
  const data = useLoaded(
    (): Promise<PlotData> =>
      measure ? readGrouped(result, { x, y, measure, isTime }) : readEach(result, drawn),
    [result, rows, x, y, other, measure],
  )
  if (!plot.value) return <Load from={plot}>{() => null}</Load>
  const { Plot } = plot.value
  return (
    <>
      {data.value && data.value.step > 1 && (
        <p class="small muted chart-note">shows 1 of every {formatCount(data.value.step)} rows</p>
      )}
      <Load from={data}>{(found) => <Plot kind={kind} data={found} isTime={isTime} />}</Load>
    </>
  )
}

async function readEach(result: Result, drawn: readonly number[]): Promise<PlotData> {
  const { columns } = result.progress.peek()
  const numbers = await result.ask('numbers', { columns: drawn, most: mostPoints })
  return { ...numbers, names: drawn.map((at) => columns[at]?.name ?? '') }
}

type Grouped = Readonly<{ x: number; y: number; measure: GroupMeasure; isTime: boolean }>

async function readGrouped(result: Result, { x, y, measure, isTime }: Grouped): Promise<PlotData> {
  const { columns } = result.progress.peek()
  const of = measure === 'count' ? null : y
  const asked = { by: x, of, measure, order: 'as in the result', most: mostPoints } as const
  const { groups } = await result.ask('groups', asked)
  const place = (value: string | null) =>
    value === null ? Number.NaN : isTime ? Date.parse(value) / 1000 : Number(value)
  return {
    columns: [
      Float64Array.from(groups, ({ value }) => place(value)),
      Float64Array.from(groups, ({ measured }) => measured ?? Number.NaN),
    ],
    names: [columns[x]!.name, of === null ? 'count' : `${measure} of ${columns[of]!.name}`],
    step: 1,
  }
}
