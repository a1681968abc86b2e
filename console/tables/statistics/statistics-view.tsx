import { useState } from 'preact/hooks'
import type { Table } from '../../api/tables.ts'
import { LeftOut } from '../../parts/controls/filter-field.tsx'
import { formatAge, formatCount, plural } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty, Notice } from '../../parts/notice.tsx'
import { Table as ListTable } from '../../parts/table.tsx'
import { type Distribution, distributionOf, rangeOf } from './distribution.ts'
import {
  type ColumnStatistics,
  readKeptStatistics,
  readSampledStatistics,
  type Statistics,
} from './read-statistics.ts'
import { mostCommon } from './statistics-sql.ts'

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
    <div class="stack statistics">
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
      <ListTable
        label="Statistics of the columns"
        head={[
          'Column',
          'Type',
          'NULL',
          'Distinct',
          'Least',
          'Largest',
          'Distribution',
          'Most frequent values',
        ]}
      >
        {columns.map((column) => (
          <Line key={column.name} column={column} source={source} />
        ))}
      </ListTable>
      {leftOut > 0 && <LeftOut count={leftOut} noun="column" />}
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

type LineProps = Readonly<{ column: ColumnStatistics; source: Statistics['source'] }>

function Line({ column, source }: LineProps) {
  const { name, type, nullShare, distinct, common, extent } = column
  const range = rangeOf(column)
  const distribution = distributionOf(column, source)
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{type}</td>
      <td class="number">{percent(nullShare)}</td>
      <td class="number">{distinct !== undefined && formatCount(distinct)}</td>
      {extent ? (
        <td colSpan={2}>
          {extent.slice(0, 2).map(shortNumber).join(' ')} to {extent.slice(2).map(shortNumber).join(' ')}
        </td>
      ) : (
        <>
          <td class="value">{range?.min}</td>
          <td class="value">{range?.max}</td>
        </>
      )}
      <td>{distribution && <Bars name={name} distribution={distribution} />}</td>
      <td class="value">
        {common.slice(0, mostCommon).map(({ value, share }) => (
          <div key={value}>
            {value === '' ? <i class="muted">empty</i> : value} <span class="muted">{percent(share)}</span>
          </div>
        ))}
      </td>
    </tr>
  )
}

/** `12 %`, `0.3 %`; never 0 for an existing value. */
function percent(share: number): string {
  if (share === 0) return '0 %'
  return share < 0.001 ? '< 0.1 %' : `${Number((share * 100).toPrecision(share < 0.1 ? 2 : 3))} %`
}

const shortNumber = (value: number) => String(Number(value.toPrecision(7)))

function Bars({
  name,
  distribution: { min, max, bars },
}: Readonly<{ name: string; distribution: Distribution }>) {
  const top = Math.max(...bars)
  return (
    <div class="bars" role="img" aria-label={`Distribution of ${name} from ${min} to ${max}`}>
      {bars.map((share, at) => (
        <span
          key={at}
          title={percent(share)}
          style={{ height: `${share === 0 ? 0 : Math.max(1, (share / top) * 32)}px` }}
        />
      ))}
    </div>
  )
}
