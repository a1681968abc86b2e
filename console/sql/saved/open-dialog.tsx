import { useState } from 'preact/hooks'
import type { SavedQueryDocument } from '../../../src/contract/saved-queries.ts'
import { curlLine } from '../../api/curl.ts'
import { session } from '../../api/session.ts'
import { copyText } from '../../parts/controls/copy-button.tsx'
import { Confirm, Dialog } from '../../parts/controls/dialog.tsx'
import { SearchField } from '../../parts/controls/search-field.tsx'
import { formatAge, shorten } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'
import { addDraft } from '../drafts.ts'
import { deleteQuery, givenBy, listQueries } from './saved-queries.ts'

/** The queries saved in the account. Choosing one opens it in a new draft. */
export function OpenDialog({ close }: Readonly<{ close: () => void }>) {
  const [text, setText] = useState('')
  const queries = useLoaded(listQueries, [])
  const matches = ({ name, description, sql }: SavedQueryDocument) =>
    `${name} ${description} ${sql}`.toLowerCase().includes(text.toLowerCase())
  const open = (query: SavedQueryDocument) => {
    close()
    addDraft(query.sql, query.name, givenBy(query))
  }
  return (
    <Dialog title="Open query" onClose={close} isWide>
      <SearchField value={text} change={setText} />
      <Load from={queries}>
        {(all) => (
          <Queries
            queries={all.filter(matches)}
            isNone={all.length === 0}
            open={open}
            changed={queries.reload}
          />
        )}
      </Load>
    </Dialog>
  )
}

type QueriesProps = Readonly<{
  queries: readonly SavedQueryDocument[]
  isNone: boolean
  open: (query: SavedQueryDocument) => void
  changed: () => void
}>

function Queries({ queries, isNone, open, changed }: QueriesProps) {
  const [leaving, setLeaving] = useState<string | undefined>(undefined)
  const { error, begin } = useWork()
  if (queries.length === 0)
    return <Empty>{isNone ? 'No saved queries yet. Save puts one here.' : 'No queries found.'}</Empty>
  const finish = (isConfirmed: boolean) => {
    const name = leaving
    setLeaving(undefined)
    if (isConfirmed && name !== undefined) void begin(async () => deleteQuery(name).then(changed))
  }
  return (
    <div class="history">
      {error !== undefined && <ErrorNotice error={error} />}
      {queries.map((query) => (
        <div key={query.name} class="saved-query">
          <button type="button" class="quiet grow" onClick={() => open(query)}>
            <span>
              <strong>{query.name}</strong> {query.public && <span class="badge">public</span>}
              <br />
              <span class="small muted">{query.description || shorten(query.sql, 120)}</span>
            </span>
            <span class="small muted">{formatAge(query.updated_at)}</span>
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => void copyText(curlOf(query), 'curl command copied, without the token')}
          >
            Copy curl
          </button>
          <button
            type="button"
            class="quiet"
            aria-label={`Delete ${query.name}`}
            onClick={() => setLeaving(query.name)}
          >
            Delete
          </button>
        </div>
      ))}
      {leaving !== undefined && (
        <Confirm title={`Delete ${leaving}?`} act="Delete" onDone={finish}>
          <p>Programs that run it get 404.</p>
        </Confirm>
      )}
    </div>
  )
}

const curlOf = ({ name, params }: SavedQueryDocument) =>
  curlLine('runQueryByGet', {
    username: session.value?.username ?? '',
    token: undefined,
    parameters: { query: name },
    query: Object.fromEntries(Object.keys(params).map((param) => [param, ''])),
  })
