import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ChartDefinition } from '../../src/contract/charts.ts'
import { Empty } from '../parts/notice.tsx'
import { ChartFigure } from './figure.tsx'
import { type PlainRow, plainRows } from './plain-rows.ts'
import type { ChartColumn, ChartData, ChartProblem } from './read/chart-data.ts'
import { readChart } from './read/read-chart.ts'

export type ChartProps = Readonly<{
  spec: ChartDefinition
  columns: readonly ChartColumn[]
  rows: readonly PlainRow[]
}>

/** Draws rows of the page, and fills its parent. Knows nothing of their source. */
export function Chart({ spec, columns, rows }: ChartProps) {
  const [read, setRead] = useState<ChartData | ChartProblem | undefined>(undefined)
  const wanted = useMemo(() => JSON.stringify(spec), [spec])
  useEffect(
    () => readInSlices(readChart(spec, columns, plainRows(columns, rows)), setRead),
    [wanted, columns, rows],
  )
  return read ? <ReadChart read={read} /> : null
}

/** What was read, or why nothing can be drawn. */
export function ReadChart({ read }: Readonly<{ read: ChartData | ChartProblem }>) {
  return 'problem' in read ? <Empty>{read.problem}</Empty> : <ChartFigure data={read} />
}

/** Runs a generator without blocking the page. Returns a function that stops it. */
function readInSlices<T>(steps: Generator<void, T>, done: (result: T) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const go = () => {
    const until = performance.now() + 12
    do {
      const step = steps.next()
      if (step.done) return done(step.value)
    } while (performance.now() < until)
    timer = setTimeout(go)
  }
  go()
  return () => clearTimeout(timer)
}
