import { useState } from 'preact/hooks'
import type { SavedQueryDocument } from '../../../src/contract/saved-queries.ts'
import { Confirm, Dialog } from '../../parts/controls/dialog.tsx'
import { LeftOut } from '../../parts/controls/filter-field.tsx'
import { SearchField } from '../../parts/controls/search-field.tsx'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'
import { addDraft, changeDraft, currentDraft } from '../drafts.ts'
import { foldersOf } from './folders.ts'
import { QueryLine } from './query-line.tsx'
import { deleteQuery, givenBy, listQueries } from './saved-queries.ts'

type OpenProps = Readonly<{ close: () => void; insert: (text: string) => void }>

/** The queries saved in the account, by folders. Choosing one opens it in a new draft, or inserts it at the cursor. */
export function OpenDialog({ close, insert }: OpenProps) {
  const [text, setText] = useState('')
  const queries = useLoaded(listQueries, [])
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = ({ name, description, sql }: SavedQueryDocument) => {
    const all = `${name} ${description} ${sql}`.toLowerCase()
    return words.every((word) => all.includes(word))
  }
  const acts = {
    open: (query: SavedQueryDocument) => {
      close()
      addDraft(query.sql, query.name, { values: givenBy(query), chart: query.chart })
    },
    insert: (query: SavedQueryDocument) => {
      close()
      giveDefaults(query)
      insert(query.sql)
    },
  }
  return (
    <Dialog title="Open query" onClose={close} isWide>
      <SearchField value={text} change={setText} />
      <Load from={queries}>
        {(all) => (
          <Queries
            queries={all.filter(matches)}
            isNone={all.length === 0}
            isSearch={words.length > 0}
            changed={queries.reload}
            {...acts}
          />
        )}
      </Load>
    </Dialog>
  )
}

/** For parameters that have no value in the draft yet. */
function giveDefaults(query: SavedQueryDocument): void {
  const draft = currentDraft.peek()
  const defaults = givenBy(query)
  if (draft && Object.keys(defaults).length > 0)
    changeDraft(draft.id, { values: { ...defaults, ...draft.values } })
}

const mostShown = 300

type QueriesProps = Readonly<{
  queries: readonly SavedQueryDocument[]
  isNone: boolean
  isSearch: boolean
  open: (query: SavedQueryDocument) => void
  insert: (query: SavedQueryDocument) => void
  changed: () => void
}>

function Queries({ queries, isNone, isSearch, changed, ...acts }: QueriesProps) {
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
      {foldersOf(queries.slice(0, mostShown)).map(({ path, queries: inside }) => {
        const lines = inside.map((query) => (
          <QueryLine key={query.name} query={query} folder={path} remove={setLeaving} {...acts} />
        ))
        // A search opens the folders in which it finds something.
        return path === '' ? (
          lines
        ) : (
          <details key={`${path} ${isSearch}`} class="folder" open={isSearch || undefined}>
            <summary>
              {path} <span class="small muted">{inside.length}</span>
            </summary>
            {lines}
          </details>
        )
      })}
      <LeftOut count={queries.length - mostShown} noun="saved statement" />
      {leaving !== undefined && (
        <Confirm title={`Delete ${leaving}?`} act="Delete" onDone={finish}>
          <p>Programs that run it get 404.</p>
        </Confirm>
      )}
    </div>
  )
}
