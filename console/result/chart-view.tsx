import type { ChartDefinition } from '../../src/contract/charts.ts'
import { ReadChart } from '../chart/chart.tsx'
import { firstChart, hasColumns } from '../chart/choices.ts'
import { downloadPng, downloadSvg } from '../chart/download.tsx'
import { ChartForm } from '../chart/form.tsx'
import type { ChartData } from '../chart/read/chart-data.ts'
import { Menu } from '../parts/controls/menu.tsx'
import { formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import type { Result } from './result.ts'
import type { ResultLook } from './result-look.ts'

type ShownProps = Readonly<{ result: Result; look: ResultLook }>

/** A chart of all rows of a result, with its choices. A chart of missing columns stays chosen and is not drawn. */
export default function ChartView({ result, look }: ShownProps) {
  const { columns } = result.progress.value
  const chosen = look.chart.value
  const spec = chosen && hasColumns(chosen, columns) ? chosen : firstChart(columns)
  if (!spec) return <Empty>A chart needs a column that is not a geometry.</Empty>
  return <ShownChart result={result} look={look} spec={spec} />
}

function ShownChart({ result, look, spec }: ShownProps & Readonly<{ spec: ChartDefinition }>) {
  const { columns, rows } = result.progress.value
  const read = useResultChart(result, spec)
  const isDrawn = read.value !== undefined && !('problem' in read.value) && !read.isLoading
  return (
    <div class="map-view">
      <div class="map-bar">
        <ChartForm spec={spec} columns={columns} change={(chart) => look.chooseChart(chart)} />
        {look.isPart && (
          <span class="small muted">of the {formatCount(rows)} rows that are shown, not of all</span>
        )}
        <span class="grow" />
        {isDrawn && <Downloads data={read.value as ChartData} />}
      </div>
      <div class="chart-place">
        <Load from={read}>{(value) => <ReadChart read={value} />}</Load>
      </div>
    </div>
  )
}

/** Reads all rows in the worker, whatever their number. */
export function useResultChart(result: Result, spec: ChartDefinition) {
  const { rows } = result.progress.value
  return useLoaded(() => result.ask('chart', { spec }), [result, rows, JSON.stringify(spec)])
}

function Downloads({ data }: Readonly<{ data: ChartData }>) {
  const savePng = () => void downloadPng(data).catch((error: Error) => toast(error.message))
  return (
    <Menu
      label="Save chart ▾"
      items={[
        { note: 'Saves what the chart shows, on white.' },
        { label: 'PNG', run: savePng },
        { label: 'SVG', run: () => downloadSvg(data) },
      ]}
    />
  )
}
