import type { FullKeyDocument, OwnActivity } from '../../../src/contract/documents.ts'
import { readActivity } from '../../api/keys.ts'
import { serviceNow } from '../../parts/browser/clock.ts'
import { formatAge, formatDuration, formatTime, plural } from '../../parts/format.ts'
import { Skeleton } from '../../parts/loading.tsx'
import { ErrorNotice, Notice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { usePolled } from '../../parts/use-polled.ts'
import { keysOf } from '../member.ts'

const everyMs = 5_000

/** What a key runs now, in all processes, and when it was last used. Refreshed while the tab is visible. */
export function KeyActivity({ of: key }: Readonly<{ of: FullKeyDocument }>) {
  const { value, error } = usePolled((signal) => readActivity({ ...keysOf(), signal }), everyMs)
  return (
    <section class="panel stack" aria-labelledby="key-activity">
      <h2 id="key-activity">Activity</h2>
      {error !== undefined && <ErrorNotice error={error} />}
      {value ? <Now of={key} activity={value} /> : error === undefined && <Skeleton lines={2} />}
    </section>
  )
}

/** A job runs as the account, so it belongs to the Master key. */
const isOf = ({ name, type }: FullKeyDocument, key: string | null) =>
  key === null ? type === 'master' : key === name

function Now({ of: key, activity }: Readonly<{ of: FullKeyDocument; activity: OwnActivity }>) {
  const { left_out, silent_processes } = activity
  const statements = activity.statements.filter((one) => isOf(key, one.key))
  return (
    <>
      {silent_processes > 0 && (
        <Notice kind="warning">
          {plural(silent_processes, 'process', 'processes')} did not answer: what runs there is not shown.
        </Notice>
      )}
      {statements.length === 0 ? (
        <p class="muted">
          Nothing runs with this key now. Last used{' '}
          {key.last_used_at ? `${formatAge(key.last_used_at)}, ${formatTime(key.last_used_at)}` : 'never'}.
        </p>
      ) : (
        <Table label="What runs now" head={['Kind', 'Running for', 'Waits for', 'SQL']}>
          {statements.map(({ id, kind, since, waits_for, text, text_is_cut }) => (
            <tr key={id}>
              <td>{kind}</td>
              <td title={formatTime(since)}>
                {formatDuration(Math.max(0, serviceNow() - Date.parse(since)))}
              </td>
              <td>{waits_for}</td>
              <td class="mono small key-sql">
                {text ?? (kind === 'session' ? 'between two statements' : '')}
                {text_is_cut && '…'}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {left_out > 0 && (
        <p class="muted">{plural(left_out, 'more statement')} of the account not shown: only the longest.</p>
      )}
    </>
  )
}
