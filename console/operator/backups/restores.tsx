import type { RestorePhase } from '../../../src/contract/admin-names.ts'
import type { RestoreDocument } from '../../../src/contract/documents.ts'
import { cancelRestore, listRestores } from '../../api/operator.ts'
import { hrefOf, pathTo } from '../../parts/browser/route.ts'
import { formatAge, formatTime } from '../../parts/format.ts'
import { Skeleton } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { usePolled } from '../../parts/use-polled.ts'
import { useWork } from '../../parts/work.ts'

/** The newest restores of users, followed while the tab is visible. */
export function Restores() {
  const { value, error } = usePolled(listRestores, everyMs)
  return (
    <>
      <h2>Restored users</h2>
      {error !== undefined && <ErrorNotice error={error} />}
      {value === undefined ? (
        error === undefined && <Skeleton lines={2} />
      ) : (
        <RestoreTable restores={value} />
      )}
    </>
  )
}

const everyMs = 2_000

function RestoreTable({ restores }: Readonly<{ restores: readonly RestoreDocument[] }>) {
  const { isBusy, error, begin } = useWork()
  if (restores.length === 0) return <Empty>No user was restored yet.</Empty>
  const cancel = ({ id, restored_as }: RestoreDocument) =>
    begin(async () => {
      await cancelRestore(id)
      toast(`${restored_as} is not made`)
    })
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      <Table
        label="Restored users"
        head={['New user', 'User in the backup', 'Backup', 'Phase', 'Begun', 'Reason', 'Cancel']}
      >
        {restores.map((restore) => (
          <tr key={restore.id}>
            <td>
              {restore.phase === 'done' ? (
                <a href={hrefOf(pathTo('operator', 'users', restore.restored_as))}>{restore.restored_as}</a>
              ) : (
                restore.restored_as
              )}
            </td>
            <td>{restore.username}</td>
            <td class="mono">{restore.file}</td>
            <td>
              {restore.phase}
              {restore.ended_at === null && ` ${restore.progress} %`}
            </td>
            <td title={formatTime(restore.created_at)}>{formatAge(restore.created_at)}</td>
            <td class="text">{restore.error}</td>
            <td>
              {undoable.has(restore.phase) && (
                <button
                  type="button"
                  disabled={isBusy}
                  aria-label={`Cancel the restore of ${restore.restored_as}`}
                  onClick={() => cancel(restore)}
                >
                  Cancel
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

const undoable: ReadonlySet<RestorePhase> = new Set(['unpacking', 'copying'])
