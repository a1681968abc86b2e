import { Notice } from '../parts/notice.tsx'
import { isRunning, runOrAsk } from './runs.ts'
import { type EditorTransaction, transaction } from './transaction.ts'

/** Shows that a transaction is open, with buttons to end it. */
export function TransactionBar({ draftId }: Readonly<{ draftId: string }>) {
  const open = transaction.value
  if (!open) return null
  if (open.state === 'lost') return <LostTransaction open={open} />
  const end = (text: string) => () =>
    void runOrAsk({ draftId, statements: [{ text, from: 0, to: 0 }], as: open.as })
  const isFailed = open.state === 'failed'
  return (
    <div class="transaction" role="status">
      <Notice
        kind={isFailed ? 'error' : 'warning'}
        acts={
          <>
            <button
              type="button"
              class="primary"
              disabled={isFailed || isRunning.value}
              onClick={end('commit')}
            >
              Commit
            </button>
            <button type="button" disabled={isRunning.value} onClick={end('rollback')}>
              Roll back
            </button>
          </>
        }
      >
        {isFailed
          ? 'The transaction has failed. Roll it back.'
          : `A transaction is open as ${open.as.label}. Others do not see its changes yet.`}
      </Notice>
    </div>
  )
}

function LostTransaction({ open }: Readonly<{ open: EditorTransaction }>) {
  const dismiss = () => {
    transaction.value = undefined
  }
  return (
    <div class="transaction" role="status">
      <Notice
        kind="error"
        acts={
          <button type="button" onClick={dismiss}>
            Dismiss
          </button>
        }
      >
        The transaction was rolled back. {open.reason}.
      </Notice>
    </div>
  )
}
