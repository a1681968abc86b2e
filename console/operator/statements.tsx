import type { ActivityStatement } from '../../src/contract/documents.ts'
import { stopActivity } from '../api/operator.ts'
import { serviceNow } from '../parts/browser/clock.ts'
import { formatDuration, formatTime } from '../parts/format.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { UserLink } from './user-link.tsx'

/** Everything that runs for callers, each with a Stop button. */
export function Statements({ statements }: Readonly<{ statements: readonly ActivityStatement[] }>) {
  const { isBusy, error, begin } = useWork()
  const stop = ({ id, kind, username }: ActivityStatement) =>
    begin(async () => {
      await stopActivity(id)
      toast(`Stopped a ${kind} of ${username}`)
    })
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      <Table label="Statements" head={['User', 'Kind', 'Key', 'Running for', 'Waits for', 'SQL', 'Stop']}>
        {statements.map((statement) => (
          <tr key={statement.id}>
            <td>
              <UserLink username={statement.username} />
            </td>
            <td>{statement.kind}</td>
            <td>{statement.key}</td>
            <td class="time" title={formatTime(statement.since)}>
              {formatDuration(Math.max(0, serviceNow() - Date.parse(statement.since)))}
            </td>
            <td title={statement.wait_event ?? undefined}>
              {statement.waits_for}
              {statement.blocked_by.length > 0 && ` of ${statement.blocked_by.join(', ')}`}
            </td>
            <td class="mono small text" title={`id ${statement.id}`}>
              {statement.text}
              {statement.text_is_cut && '…'}
            </td>
            <td>
              <button
                type="button"
                class="danger"
                disabled={isBusy}
                aria-label={`Stop ${statement.kind} of ${statement.username}`}
                onClick={() => stop(statement)}
              >
                Stop
              </button>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}
