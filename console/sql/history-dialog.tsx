import { useState } from 'preact/hooks'
import { type HistoryEntry, readHistory } from '../api/history.ts'
import { Dialog } from '../parts/controls/dialog.tsx'
import { SearchField } from '../parts/controls/search-field.tsx'
import { formatAge, formatDuration, plural, shorten } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { addDraft } from './drafts.ts'

/** The statements run in this browser. Choosing one opens it in a new draft. */
export function HistoryDialog({ close }: Readonly<{ close: () => void }>) {
  const [text, setText] = useState('')
  const history = useLoaded(readHistory, [])
  const choose = (entry: HistoryEntry) => {
    close()
    addDraft(entry.text)
  }
  return (
    <Dialog title="History" onClose={close} isWide>
      <SearchField value={text} change={setText} />
      <Load from={history}>
        {(entries) => (
          <Entries
            entries={entries.filter((entry) => entry.text.toLowerCase().includes(text.toLowerCase()))}
            choose={choose}
          />
        )}
      </Load>
    </Dialog>
  )
}

const mostShown = 200

type EntriesProps = Readonly<{ entries: readonly HistoryEntry[]; choose: (entry: HistoryEntry) => void }>

function Entries({ entries, choose }: EntriesProps) {
  if (entries.length === 0) return <Empty>No statements found.</Empty>
  return (
    <div class="history">
      {entries.slice(0, mostShown).map((entry) => (
        <button key={entry.text} type="button" class="quiet" onClick={() => choose(entry)}>
          <code class="grow">{shorten(entry.text, 160)}</code>
          <span class="small muted">{describe(entry)}</span>
        </button>
      ))}
      {entries.length > mostShown && (
        <p class="muted">
          {plural(entries.length - mostShown, 'more statement')} not shown: search to find them.
        </p>
      )}
    </div>
  )
}

function describe({ outcome, rows = 0, ms = 0, as, at }: HistoryEntry): string {
  const end = outcome === 'done' ? `${plural(rows, 'row')}, ${formatDuration(ms)}` : outcome
  return `${end} · as ${as} · ${formatAge(at)}`
}
