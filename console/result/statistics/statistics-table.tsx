import { adoptStyles } from '../../parts/browser/styles.ts'
import { formatCount, plural } from '../../parts/format.ts'
import { Table } from '../../parts/table.tsx'
import { type ColumnStatistics, mostCommon, type StatisticsSource } from './column-statistics.ts'
import { type Distribution, distributionOf, rangeOf } from './distribution.ts'
import css from './statistics.css' with { type: 'text' }

adoptStyles(css)

type TableProps = Readonly<{
  columns: readonly ColumnStatistics[]
  source: StatisticsSource
  /** Columns that are not in the list. */
  leftOut: number
}>

/** What columns contain, a line for each. */
export function StatisticsTable({ columns, source, leftOut }: TableProps) {
  return (
    <div class="statistics">
      <Table
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
        {columns.map((column, at) => (
          <Line key={at} column={column} source={source} />
        ))}
      </Table>
      {leftOut > 0 && <p class="muted">{plural(leftOut, 'more column')} not shown.</p>}
    </div>
  )
}

type LineProps = Readonly<{ column: ColumnStatistics; source: StatisticsSource }>

function Line({ column, source }: LineProps) {
  const { name, type, nullShare, distinct, hasMoreDistinct, common, extent } = column
  const range = rangeOf(column)
  const distribution = distributionOf(column, source)
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{type}</td>
      <td class="number">{percent(nullShare)}</td>
      <td class="number">
        {distinct !== undefined && `${hasMoreDistinct ? 'over ' : ''}${formatCount(distinct)}`}
      </td>
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
        {common.slice(0, mostCommon).map(({ value, share }, at) => (
          <div key={at}>
            {value === '' ? <i class="muted">empty</i> : value} <span class="muted">{percent(share)}</span>
          </div>
        ))}
      </td>
    </tr>
  )
}

/** `12 %`, `0.3 %`; never 0 for what is there. */
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
