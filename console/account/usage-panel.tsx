import type { UsageDocument, UsagePeriodDocument } from '../../src/contract/documents.ts'
import { requestJson, requestText } from '../api/request.ts'
import { session } from '../api/session.ts'
import { saveFile } from '../parts/browser/files.ts'
import { formatBytes, formatCount } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { useWork } from '../parts/work.ts'

/** What the account has used in the last 30 days. */
export function UsagePanel() {
  const { username } = session.value!
  const usage = useLoaded((signal) => requestJson<UsageDocument>('readUsage', { signal }), [username])
  const { isBusy, error, begin } = useWork()
  const save = () =>
    begin(async () => {
      const text = await requestText('readUsage', { query: { format: 'csv' } })
      saveFile(`usage-${username}.csv`, new Blob([text], { type: 'text/csv' }))
    })
  return (
    <section class="panel stack" aria-labelledby="usage">
      <div class="row">
        <h2 id="usage" class="grow">
          Usage
        </h2>
        <button type="button" disabled={isBusy} onClick={save}>
          Download CSV
        </button>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={usage}>
        {({ periods }) =>
          periods.length === 0 ? <Empty>Nothing was used in the last 30 days.</Empty> : <Days of={periods} />
        }
      </Load>
    </section>
  )
}

function Days({ of: periods }: Readonly<{ of: readonly UsagePeriodDocument[] }>) {
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
