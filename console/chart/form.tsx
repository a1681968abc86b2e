import {
  aggregateOf,
  type ChartAggregate,
  type ChartDefinition,
  type ChartOrder,
  chartAggregates,
  chartKinds,
  chartOrders,
  drawsRows,
  maxChartValues,
} from '../../src/contract/charts.ts'
import { Choice } from '../parts/controls/choice.tsx'
import { Menu } from '../parts/controls/menu.tsx'
import { changed, columnsFor } from './choices.ts'
import type { ChartColumn } from './read/chart-data.ts'

type FormProps = Readonly<{
  spec: ChartDefinition
  columns: readonly ChartColumn[]
  change: (spec: ChartDefinition) => void
}>

const listed = (names: readonly string[]) => names.map((name, at) => ({ name, at }))

const aggregateNames: Readonly<Record<ChartAggregate, string>> = {
  none: 'each row',
  count: 'count',
  sum: 'sum',
  average: 'average',
  minimum: 'minimum',
  maximum: 'maximum',
}

const orderNames: Readonly<Record<ChartOrder, string>> = {
  largest: 'largest first',
  name: 'by name',
  result: 'as in the result',
}

/** The choices of a chart: values, x axis and series. */
export function ChartForm({ spec, columns, change }: FormProps) {
  const { kind, x, y = [] } = spec
  const set = (some: Partial<ChartDefinition>) => change(changed(spec, some, columns))
  const { numbers, places, names, isOfNames } = columnsFor(columns, spec)
  const aggregate = aggregateOf(spec)
  return (
    <div class="chart-form">
      <Choice
        label="Chart type"
        value={chartKinds.indexOf(kind)}
        options={listed(chartKinds)}
        choose={(at) => set({ kind: chartKinds[at ?? 0]! })}
      />
      {kind !== 'histogram' && numbers.length > 0 && (
        <AggregateChoice spec={spec} isOfNames={isOfNames} choose={(aggregate) => set({ aggregate })} />
      )}
      {aggregate !== 'count' && <ValuesChoice spec={spec} numbers={numbers} choose={(y) => set({ y })} />}
      <Choice
        label="X axis"
        value={places.indexOf(x)}
        options={listed(places)}
        choose={(at) => set({ x: places[at ?? 0]! })}
      />
      {kind !== 'pie' && y.length < 2 && (
        <Choice
          label="Series"
          value={spec.series === undefined ? null : names.indexOf(spec.series)}
          options={listed(names)}
          choose={(at) => set({ series: at === null ? undefined : names[at] })}
          none="none"
        />
      )}
      {isOfNames && kind !== 'histogram' && kind !== 'scatter' && (
        <Choice
          label="Order"
          value={chartOrders.indexOf(
            spec.order ?? (kind === 'line' || kind === 'area' ? 'result' : 'largest'),
          )}
          options={chartOrders.map((order, at) => ({ name: orderNames[order], at }))}
          choose={(at) => set({ order: chartOrders[at ?? 0]! })}
        />
      )}
    </div>
  )
}

type AggregateProps = Readonly<{
  spec: ChartDefinition
  isOfNames: boolean
  choose: (aggregate: ChartAggregate) => void
}>

function AggregateChoice({ spec, isOfNames, choose }: AggregateProps) {
  const offered = chartAggregates.filter((each) =>
    spec.kind === 'pie'
      ? each === 'count' || each === 'sum'
      : each !== 'none' || (drawsRows(spec.kind) && !isOfNames),
  )
  return (
    <Choice
      label="Show"
      value={offered.indexOf(aggregateOf(spec))}
      options={offered.map((each, at) => ({ name: aggregateNames[each], at }))}
      choose={(at) => choose(offered[at ?? 0]!)}
    />
  )
}

type ValuesProps = Readonly<{
  spec: ChartDefinition
  numbers: readonly string[]
  choose: (y: readonly string[]) => void
}>

/** One column, or several as series. */
function ValuesChoice({ spec: { kind, y = [], series }, numbers, choose }: ValuesProps) {
  const canHaveMore = kind !== 'pie' && series === undefined && numbers.length > 1
  const toggle = (name: string) => choose(y.includes(name) ? y.filter((each) => each !== name) : [...y, name])
  return (
    <>
      <Choice
        label="Y axis"
        value={numbers.indexOf(y[0] ?? '')}
        options={listed(numbers)}
        choose={(at) =>
          choose([numbers[at ?? 0]!, ...y.slice(1).filter((name) => name !== numbers[at ?? 0])])
        }
      />
      {canHaveMore && (
        <Menu
          label={y.length > 1 ? `${y.length} columns ▾` : 'Also ▾'}
          title="More columns on the Y axis"
          items={numbers.slice(0, 200).map((name) => ({
            label: name,
            isOn: y.includes(name),
            run: () => toggle(name),
            ...(y.length >= maxChartValues && !y.includes(name) && { why: `at most ${maxChartValues}` }),
            ...(y.length === 1 && y.includes(name) && { why: 'a chart needs one' }),
          }))}
        />
      )}
    </>
  )
}
