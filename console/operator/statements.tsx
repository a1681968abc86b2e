import { useState } from 'preact/hooks'
import type { ActivityStatement } from '../../src/contract/documents.ts'
import { readWholeTexts, stopActivity } from '../api/operator.ts'
import { serviceNow } from '../parts/browser/clock.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Dialog } from '../parts/controls/dialog.tsx'
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
  const [whole, show] = useState<ActivityStatement | undefined>(undefined)
  const read = ({ id, username }: ActivityStatement) =>
    begin(async () => {
      const found = (await readWholeTexts(username)).find((statement) => statement.id === id)
      if (!found) throw new Error('This statement has ended')
      show(found)
    })
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      {whole && (
        <Dialog title={`SQL of ${whole.username}`} isWide onClose={() => show(undefined)}>
          <CodeBlock label="SQL" text={whole.text ?? ''} />
        </Dialog>
      )}
      <Table label="Statements" head={['User', 'Kind', 'Key', 'Running for', 'Waits for', 'SQL', 'Stop']}>
        {statements.map((statement) => (
          <StatementRow key={statement.id} of={statement} isBusy={isBusy} read={read} stop={stop} />
        ))}
      </Table>
    </>
  )
}

type RowProps = Readonly<{
  of: ActivityStatement
  isBusy: boolean
  read: (statement: ActivityStatement) => void
  stop: (statement: ActivityStatement) => void
}>

function StatementRow({ of: statement, isBusy, read, stop }: RowProps) {
  return (
    <tr>
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
        {statement.text_is_cut && (
          <button
            type="button"
            disabled={isBusy}
            title="This is recorded in the audit log"
            onClick={() => read(statement)}
          >
            Whole text
          </button>
        )}
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
  )
}
