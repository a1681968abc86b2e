import { useId, useState } from 'preact/hooks'
import {
  forgetHistory,
  forgetInHistory,
  readHistory,
  readServiceHistory,
  type ServiceHistory,
} from '../api/history/history.ts'
import { type MergedEntry, mergeHistory } from '../api/history/merged-history.ts'
import { session } from '../api/session.ts'
import { Confirm, Dialog } from '../parts/controls/dialog.tsx'
import { SearchField } from '../parts/controls/search-field.tsx'
import { formatAge, formatDuration, plural, shorten } from '../parts/format.ts'
import { Load, type Loaded, Skeleton, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { addDraft } from './drafts.ts'

/** The statements run in this browser, and with the same key in others. Choosing one opens it in a new draft. */
export function HistoryDialog({ close }: Readonly<{ close: () => void }>) {
  const [text, setText] = useState('')
  const local = useLoaded(readHistory, [])
  const service = useLoaded(readServiceHistory, [])
  const { isBusy, error, begin } = useWork()
  const choose = (entry: MergedEntry) => {
    close()
    addDraft(entry.text)
    if (entry.isCut) toast('Its end is missing: the service keeps the beginning of long statements')
  }
  const change = (work: () => Promise<void>) =>
    begin(async () => {
      await work()
      local.reload()
      service.reload()
    })
  const merged = (own: Parameters<typeof mergeHistory>[0]) =>
    mergeHistory(own, service.value?.statements ?? [], session.peek()?.keyName ?? null).filter((entry) =>
      entry.text.toLowerCase().includes(text.toLowerCase()),
    )
  return (
    <Dialog title="History" onClose={close} isWide>
      <SearchField value={text} change={setText} />
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={local}>
        {(own) => (
          <Entries
            entries={merged(own)}
            isComplete={!service.isLoading}
            choose={choose}
            remove={({ text: one, kept }) => void change(() => forgetInHistory(one, kept))}
          />
        )}
      </Load>
      <Foot service={service} isBusy={isBusy} removeAll={() => void change(forgetHistory)} />
    </Dialog>
  )
}

const mostShown = 200

type EntriesProps = Readonly<{
  entries: readonly MergedEntry[]
  isComplete: boolean
  choose: (entry: MergedEntry) => void
  remove: (entry: MergedEntry) => void
}>

function Entries({ entries, isComplete, ...acts }: EntriesProps) {
  if (entries.length === 0) return isComplete ? <Empty>No statements found.</Empty> : <Skeleton lines={3} />
  return (
    <div class="history">
      {entries.slice(0, mostShown).map((entry) => (
        <EntryLine key={entry.text} entry={entry} {...acts} />
      ))}
      {entries.length > mostShown && (
        <p class="muted">
          {plural(entries.length - mostShown, 'more statement')} not shown: search to find them.
        </p>
      )}
    </div>
  )
}

type LineProps = Omit<EntriesProps, 'entries' | 'isComplete'> & Readonly<{ entry: MergedEntry }>

function EntryLine({ entry, choose, remove }: LineProps) {
  const id = useId()
  return (
    <div class="saved-query">
      <button type="button" class="quiet grow" onClick={() => choose(entry)}>
        <code id={id}>{shorten(entry.text, 160)}</code>
        <span class="small muted">{describe(entry)}</span>
      </button>
      <button
        type="button"
        class="quiet"
        aria-label="Delete"
        aria-describedby={id}
        title="Delete from the history"
        onClick={() => remove(entry)}
      >
        ✕
      </button>
    </div>
  )
}

type FootProps = Readonly<{ service: Loaded<ServiceHistory>; isBusy: boolean; removeAll: () => void }>

function Foot({ service, isBusy, removeAll }: FootProps) {
  const [isAsking, ask] = useState(false)
  return (
    <div class="row">
      <p class="small muted grow">{placeOf(service)}</p>
      <button type="button" disabled={isBusy} onClick={() => ask(true)}>
        Delete all
      </button>
      {isAsking && (
        <Confirm
          title="Delete the history?"
          act="Delete"
          onDone={(isConfirmed) => {
            ask(false)
            if (isConfirmed) removeAll()
          }}
        >
          <p>
            It is deleted from this browser and from the service. Other browsers keep what was run in them.
          </p>
        </Confirm>
      )}
    </div>
  )
}

function placeOf({ value, error, isLoading }: Loaded<ServiceHistory>): string {
  if (error !== undefined)
    return `Only what this browser keeps is shown: ${error instanceof Error ? error.message : error}`
  if (!value) return isLoading ? 'Reading what the service keeps …' : ''
  return value.days === 0
    ? 'Kept in this browser only.'
    : `Kept by the service for ${plural(value.days, 'day')}, for every browser in which you sign in with this key.`
}

function describe({ outcome, rows = 0, ms = 0, as, at, isCut }: MergedEntry): string {
  const end = outcome === 'done' ? `${plural(rows, 'row')}, ${formatDuration(ms)}` : outcome
  return `${end} · as ${as} · ${formatAge(at)}${isCut ? ' · cut' : ''}`
}
