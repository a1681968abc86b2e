import { formatCount, plural } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import type { ViewProps } from '../view-props.ts'
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
              {sampled < rows && ` Distributions and extents are of ${formatCount(sampled)} of them.`}
            </p>
            <StatisticsTable columns={columns} source="all" leftOut={leftOut} />
          </div>
        )}
      </Load>
    </div>
  )
}
