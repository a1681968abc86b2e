import { formatCount, plural } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import type { ViewProps } from '../view-props.ts'
import type { ColumnStatistics } from './column-statistics.ts'
import { StatisticsTable } from './statistics-table.tsx'

/** What the columns of a result contain, counted in all rows that the browser has. */
export default function ResultStatisticsView({ result, look }: ViewProps) {
  const found = useLoaded(() => result.ask('statistics', {}), [result])
  return (
    <div class="result-statistics">
      <Load from={found}>
        {({ rows, sampled, columns, leftOut }) => (
          <div class="stack">
            <p class="small muted">
              {look.isPart
                ? `Counted in the ${formatCount(rows)} rows that are shown, not in all.`
                : `Counted in all ${plural(rows, 'row')}.`}
              {sampled < rows && ` ${sampledParts(columns)} are of ${formatCount(sampled)} of them.`}
            </p>
            <StatisticsTable columns={columns} source="all" leftOut={leftOut} />
          </div>
        )}
      </Load>
    </div>
  )
}

/** Most frequent values are counted in all rows, unless there are too many distinct ones. */
const sampledParts = (columns: readonly ColumnStatistics[]) =>
  columns.some(({ hasMoreDistinct }) => hasMoreDistinct)
    ? 'Distributions, extents and the most frequent of over 10,000 distinct values'
    : 'Distributions and extents'
