import type { ChartDefinition } from '../../../src/contract/charts.ts'
import type { DashboardPart } from '../../../src/contract/dashboards.ts'
import type { Result } from '../result.ts'

/** Called with another way to draw the chart of a part. */
export type ChangeChart = (chart: ChartDefinition) => void

/** The props of a part whose code is loaded on demand: a chart or a map. */
export type DrawnPartProps = Readonly<{
  part: DashboardPart
  result: Result
  changeChart?: ChangeChart | undefined
}>
