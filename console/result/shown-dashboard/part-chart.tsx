import type { ChartDefinition } from '../../../src/contract/charts.ts'
import { ReadChart } from '../../chart/chart.tsx'
import { firstChart } from '../../chart/choices.ts'
import { ChartForm } from '../../chart/form.tsx'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { formatCount } from '../../parts/format.ts'
import { Load } from '../../parts/loading.tsx'
import { Empty } from '../../parts/notice.tsx'
import { useResultChart } from '../chart-view.tsx'
import resultCss from '../result.css' with { type: 'text' }
import type { DrawnPartProps } from './drawn-part.ts'
import { mostRows } from './read-part.ts'

adoptStyles(resultCss)

/** A chart of a part's rows, with its choices in the editor. */
export default function PartChart({ part, result, changeChart }: DrawnPartProps) {
  const { columns, rows } = result.progress.value
  const spec = part.chart ?? firstChart(columns)
  if (!spec) return <Empty>A chart needs a column that is not a geometry.</Empty>
  return (
    <>
      {changeChart && (
        <div class="map-bar">
          <ChartForm spec={spec} columns={columns} change={changeChart} />
        </div>
      )}
      {rows >= mostRows.chart && (
        <p class="small muted part-note">The first {formatCount(rows)} rows: a chart reads no more.</p>
      )}
      <Drawn result={result} spec={spec} />
    </>
  )
}

function Drawn({ result, spec }: Pick<DrawnPartProps, 'result'> & Readonly<{ spec: ChartDefinition }>) {
  const read = useResultChart(result, spec)
  return (
    <div class="chart-place">
      <Load from={read}>{(value) => <ReadChart read={value} />}</Load>
    </div>
  )
}
