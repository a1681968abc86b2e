import { useMemo } from 'preact/hooks'
import type { DashboardPart } from '../../../src/contract/dashboards.ts'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { Empty } from '../../parts/notice.tsx'
import ChartView from '../chart-view.tsx'
import resultCss from '../result.css' with { type: 'text' }
import type { Result } from '../result.ts'
import { ResultLook } from '../result-look.ts'

adoptStyles(resultCss)

/** A chart of the rows of a part. */
export default function PartChart({ result }: Readonly<{ part: DashboardPart; result: Result }>) {
  const look = useMemo(() => new ResultLook(result), [result])
  if (result.progress.value.rows === 0) return <Empty>No rows.</Empty>
  return <ChartView result={result} look={look} />
}
