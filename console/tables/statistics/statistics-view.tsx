import { useState } from 'preact/hooks'
import type { Table } from '../../api/tables.ts'
import { formatAge, plural } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty, Notice } from '../../parts/notice.tsx'
import { StatisticsTable } from '../../result/statistics/statistics-table.tsx'
import { readKeptStatistics, readSampledStatistics, type Statistics } from './read-statistics.ts'

/** What the columns of a table contain: from PostgreSQL's own statistics, else from a sample. */
export function StatisticsView({ table }: Readonly<{ table: Table }>) {
  const [isSampleWanted, wantSample] = useState(false)
  const found = useLoaded(
    async (signal) => {
      const kept = isSampleWanted ? undefined : await readKeptStatistics(table, signal)
      if (kept) return kept
      return isSampleWanted || isReadUnasked(table) ? readSampledStatistics(table, signal) : ('ask' as const)
    },
    [table.schema, table.name, isSampleWanted],
  )
  return (
    <Load from={found}>
      {(statistics) =>
        statistics === 'ask' ? (
          <AskForSample table={table} read={() => wantSample(true)} />
        ) : (
          <Found statistics={statistics} readSample={() => wantSample(true)} />
        )
      }
    </Load>
  )
}

/** A view may be slow; code of another user may run. */
const isReadUnasked = ({ kind, isOfAnother }: Table) =>
  !isOfAnother && (kind === 'table' || kind === 'materialized view')

function AskForSample({ table, read }: Readonly<{ table: Table; read: () => void }>) {
  return (
    <Notice
      acts={
        <button type="button" class="primary" onClick={read}>
          Read a sample
        </button>
      }
    >
      PostgreSQL has no statistics of this {table.kind}.{' '}
      {table.isOfAnother
        ? 'It belongs to another user: reading its rows may run functions of that user with the rights of your key.'
        : 'Reading rows of it may take a while.'}
    </Notice>
  )
}

function Found({ statistics, readSample }: Readonly<{ statistics: Statistics; readSample: () => void }>) {
  const { columns, source, leftOut, rows } = statistics
  if (rows === 0) return <Empty>No rows, so there is nothing to count.</Empty>
  return (
    <div class="stack">
      <div class="row">
        <span class="muted small grow" data-testid="statistics-source">
          {sourceText(statistics)}
        </span>
        {source === 'analyze' && (
          <button type="button" onClick={readSample}>
            Read a sample instead
          </button>
        )}
      </div>
      <StatisticsTable columns={columns} source={source} leftOut={leftOut} />
    </div>
  )
}

function sourceText({ source, rows, analyzedAt }: Statistics): string {
  if (source === 'all') return `Counted in all ${plural(rows, 'row')}.`
  if (source === 'sample')
    return `Estimated from a sample of ${plural(rows, 'row')}. The number of distinct values is that of the sample.`
  const when = analyzedAt === null ? '' : `, ${formatAge(analyzedAt)}`
  return `Estimated by PostgreSQL (ANALYZE${when}) for about ${plural(Math.round(rows), 'row')}. Extents are of up to 10,000 rows.`
}
