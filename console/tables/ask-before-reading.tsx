import { ApiError } from '../api/api-error.ts'
import type { KeyCredential } from '../api/credential.ts'
import { narrowKeyFor, narrowKeyName } from '../api/narrow-key.ts'
import { session } from '../api/session.ts'
import { shownTable, type Table } from '../api/tables.ts'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'

type Props = Readonly<{ table: Table; view: 'preview' | 'map'; read: (who: KeyCredential) => void }>

/** Asks before it reads another user's table: its functions and policies run with the rights of the reader. */
export function AskBeforeReading({ table, view, read }: Props) {
  const { isBusy, error, begin } = useWork()
  const { username, token, isMaster } = session.value!
  const what = view === 'map' ? 'map' : 'rows'
  const readNarrowly = () =>
    begin(async () => {
      const { token: narrow } = await narrowKeyFor(table)
      read({ kind: 'key', username, token: narrow })
    })
  return (
    <div class="page">
      <div class="inside stack">
        <Notice kind="info">
          <strong>{shownTable(table)} belongs to another user.</strong> Reading it may run functions of that
          user with the rights of the key that reads. {token !== null && isMaster && readingAdvice}
        </Notice>
        <div class="row">
          {isMaster && view === 'preview' && (
            <button type="button" class="primary" disabled={isBusy} onClick={readNarrowly}>
              Show rows with a key for this table only
            </button>
          )}
          <button type="button" disabled={isBusy} onClick={() => read({ kind: 'key', username, token })}>
            Show {what}
            {token !== null && isMaster && ' with the Master key'}
          </button>
        </div>
        {isMaster && view === 'preview' && (
          <p class="small muted">
            This creates the key “{narrowKeyName(table)}”, which can read this table and nothing else. You can
            also choose it on the SQL page.
          </p>
        )}
        {isRefused(error) ? (
          <Notice kind="error">
            No key can get access to this: its rows depend on the reader, or it calls functions of its owner.
            Read it only if you trust the owner.
          </Notice>
        ) : (
          error !== undefined && <ErrorNotice error={error} />
        )}
      </div>
    </div>
  )
}

const readingAdvice = 'The Master key can read, change and drop everything you have.'

const isRefused = (error: unknown) => error instanceof ApiError && error.status === 422
