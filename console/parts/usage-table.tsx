import type { UsagePeriodDocument } from '../../src/contract/documents.ts'
import { formatBytes, formatCount } from './format.ts'
import { Empty } from './notice.tsx'
import { Table } from './table.tsx'

/** The use of an account, the newest day first. */
export function UsageTable({ periods }: Readonly<{ periods: readonly UsagePeriodDocument[] }>) {
  if (periods.length === 0) return <Empty>Nothing was used in the last 30 days.</Empty>
  return (
    <Table
      label="Usage by day"
      head={[
        'Day (UTC)',
        'Requests',
        'Jobs',
        'Tiles',
        'PostgreSQL',
        'Rows out',
        'Rows in',
        'Out',
        'In',
        'Disk',
      ]}
    >
      {periods.toReversed().map((day) => (
        <tr key={day.from}>
          <td>{day.from.slice(0, 10)}</td>
          <td>{formatCount(Object.values(day.requests).reduce((sum, count) => sum + count, 0))}</td>
          <td>{formatCount(day.jobs)}</td>
          <td>{formatCount(day.tiles)}</td>
          <td>{day.postgres_seconds.toFixed(1)} s</td>
          <td>{formatCount(day.rows_out)}</td>
          <td>{formatCount(day.rows_in)}</td>
          <td>{formatBytes(day.bytes_out)}</td>
          <td>{formatBytes(day.bytes_in)}</td>
          <td>{day.disk_bytes === null ? '' : formatBytes(day.disk_bytes)}</td>
        </tr>
      ))}
    </Table>
  )
}
