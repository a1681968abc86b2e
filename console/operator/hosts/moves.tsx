import type { MovePhase } from '../../../src/contract/admin-names.ts'
import type { MoveDocument } from '../../../src/contract/documents.ts'
import { cancelMove, listMoves } from '../../api/operator.ts'
import { serviceNow } from '../../parts/browser/clock.ts'
import { formatAge, formatDuration, formatTime } from '../../parts/format.ts'
import { Skeleton } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { usePolled } from '../../parts/use-polled.ts'
import { useWork } from '../../parts/work.ts'

/** The newest moves, polled while the tab is visible. */
export function Moves() {
  const { value, error } = usePolled((signal) => listMoves(signal), everyMs)
  return (
    <>
      <h2>Moves</h2>
      {error !== undefined && <ErrorNotice error={error} />}
      {value === undefined ? error === undefined && <Skeleton lines={2} /> : <MoveTable moves={value} />}
    </>
  )
}

const everyMs = 2_000

function MoveTable({ moves }: Readonly<{ moves: readonly MoveDocument[] }>) {
  const { isBusy, error, begin } = useWork()
  if (moves.length === 0) return <Empty>Nothing has moved yet.</Empty>
  const cancel = ({ id, ...move }: MoveDocument) =>
    begin(async () => {
      await cancelMove(id)
      toast(`The move of ${nameOf(move)} is undone`)
    })
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      <Table
        label="Moves"
        head={['Account', 'From', 'To', 'Phase', 'Begun', 'Not served', 'Reason', 'Cancel']}
      >
        {moves.map((move) => (
          <tr key={move.id}>
            <td>{nameOf(move)}</td>
            <td>{move.from_host}</td>
            <td>{move.to_host}</td>
            <td>
              {move.phase}
              {move.ended_at === null && ` ${move.progress} %`}
            </td>
            <td title={formatTime(move.created_at)}>{formatAge(move.created_at)}</td>
            <td class="time">{pauseOf(move)}</td>
            <td class="text">{move.error}</td>
            <td>
              {undoable.has(move.phase) && (
                <button
                  type="button"
                  disabled={isBusy}
                  aria-label={`Cancel the move of ${nameOf(move)}`}
                  onClick={() => cancel(move)}
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

const nameOf = ({ username, organization }: Pick<MoveDocument, 'username' | 'organization'>) =>
  username ?? organization

/** The phases before the switch. */
const undoable: ReadonlySet<MovePhase> = new Set(['waiting', 'stopping', 'copying', 'checking'])

function pauseOf({ stopped_at, served_at }: MoveDocument): string {
  if (stopped_at === null) return ''
  const until = served_at === null ? serviceNow() : Date.parse(served_at)
  return formatDuration(Math.max(0, until - Date.parse(stopped_at)))
}
