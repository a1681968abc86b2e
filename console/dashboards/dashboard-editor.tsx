import { useState } from 'preact/hooks'
import {
  type DashboardDocument,
  type DashboardPart,
  isDashboardName,
  maxDashboardParts,
} from '../../src/contract/dashboards.ts'
import { session } from '../api/session.ts'
import { hrefOf } from '../parts/browser/route.ts'
import { Confirm } from '../parts/controls/dialog.tsx'
import { LeaveGuard } from '../parts/controls/leave-guard.tsx'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { ShownDashboard } from '../result/shown-dashboard/shown-dashboard.tsx'
import { BoardFields } from './board-fields.tsx'
import { ConflictNotice } from './conflict-notice.tsx'
import { type DashboardDraft, emptyBoard, type PartChoices, withPart } from './dashboard-draft.ts'
import { DashboardHead } from './dashboard-view.tsx'
import { listDashboards, listPartQueries, pathOfDashboard } from './dashboards-api.ts'
import { FilterEditor } from './filter-editor.tsx'
import { PartActs } from './part-acts.tsx'
import { PartDialog } from './part-dialog.tsx'
import { type ReadBoard, readBoard, useBoard } from './use-board.ts'

export function NewDashboard() {
  return <LoadedEditor read={async () => ({ board: emptyBoard, etag: undefined })} isNew />
}

export function EditedDashboard({ name }: Readonly<{ name: string }>) {
  return <LoadedEditor read={(signal) => readBoard(name, signal)} isNew={false} />
}

type LoadedProps = Readonly<{ read: (signal: AbortSignal) => Promise<ReadBoard>; isNew: boolean }>

function LoadedEditor({ read, isNew }: LoadedProps) {
  const loaded = useLoaded(
    async (signal) => {
      const [initial, queries, known] = await Promise.all([
        read(signal),
        listPartQueries(signal),
        listDashboards(signal),
      ])
      return { initial, queries, names: known.map(({ name }) => name) }
    },
    [session.value],
  )
  return (
    <div class="page">
      <div class="dashboard-page">
        <Load from={loaded}>{(found) => <DashboardEditor {...found} isNew={isNew} />}</Load>
      </div>
    </div>
  )
}

type EditorProps = Readonly<{
  initial: ReadBoard
  queries: DashboardDocument['queries']
  /** The names of the account's dashboards. */
  names: readonly string[]
  isNew: boolean
}>

function DashboardEditor({ initial, queries, names, isNew }: EditorProps) {
  const { base, draft, change, conflict, ...board } = useBoard(initial)
  // Saving under a taken name would be refused.
  const isTaken = isNew && names.includes(draft.name)
  const isReady = draft.title.trim() !== '' && isDashboardName(draft.name) && !isTaken
  return (
    <>
      <DashboardHead title={isNew ? 'New dashboard' : base.title}>
        {board.isUnsaved && (
          <>
            <span class="muted">Not saved yet</span>
            <LeaveGuard>
              <p>Your changes to this dashboard are not saved.</p>
            </LeaveGuard>
          </>
        )}
        {!isNew && <DeleteButton name={draft.name} remove={board.remove} />}
        <a class="button" href={hrefOf(isNew ? '/dashboards' : pathOfDashboard(base.name))}>
          Cancel
        </a>
        <button
          type="button"
          class="primary"
          disabled={board.isBusy || !isReady}
          onClick={() => void board.save()}
        >
          Save
        </button>
      </DashboardHead>
      {board.error !== undefined && <ErrorNotice error={board.error} />}
      {conflict && <ConflictNotice conflict={conflict} {...board} />}
      <BoardFields {...{ draft, change, isNew, isTaken }} />
      <FilterEditor draft={draft} queries={queries} change={(filters) => change({ filters })} />
      <Parts draft={draft} queries={queries} change={(parts) => change({ parts })} />
    </>
  )
}

type DeleteProps = Readonly<{ name: string; remove: () => Promise<void> }>

function DeleteButton({ name, remove }: DeleteProps) {
  const [isAsking, ask] = useState(false)
  const finish = (isConfirmed: boolean) => {
    ask(false)
    if (isConfirmed) void remove()
  }
  return (
    <>
      <button type="button" class="danger" onClick={() => ask(true)}>
        Delete
      </button>
      {isAsking && (
        <Confirm title="Delete the dashboard?" act="Delete" onDone={finish}>
          <p>The dashboard {name} and its link end. Its saved queries stay.</p>
        </Confirm>
      )}
    </>
  )
}

type PartsProps = Readonly<{
  draft: DashboardDraft
  queries: DashboardDocument['queries']
  change: (parts: readonly DashboardPart[]) => void
}>

/** The id of a part, or a new one. */
type Edited = Readonly<{ id: string | undefined }>

function Parts({ draft, queries, change }: PartsProps) {
  const [edited, edit] = useState<Edited | undefined>(undefined)
  const { parts } = draft
  const isFull = parts.length >= maxDashboardParts
  const done = (choices: PartChoices) => {
    const id = edited?.id
    edit(undefined)
    if (id === undefined) return change(withPart(parts, choices))
    change(
      parts.map((part) => {
        const { x, y, w, h } = part
        return part.id === id ? { id, ...choices, x, y, w, h } : part
      }),
    )
  }
  const add = (
    <button type="button" disabled={isFull} onClick={() => edit({ id: undefined })}>
      Add a saved query
    </button>
  )
  return (
    <>
      {parts.length > 0 && (
        <div class="row">
          <h2 class="grow">Parts</h2>
          {isFull && <span class="muted">A dashboard has at most {maxDashboardParts} parts.</span>}
          {add}
        </div>
      )}
      {parts.length === 0 ? (
        <Empty>
          <span>A dashboard shows saved queries as tables, numbers, charts and maps.</span>
          {add}
        </Empty>
      ) : (
        <ShownDashboard
          key={shownAnew(draft)}
          account={session.value?.username ?? ''}
          dashboard={{ ...draft, queries }}
          changeChart={({ id }, chart) =>
            change(parts.map((part) => (part.id === id ? { ...part, chart } : part)))
          }
          acts={(part) => (
            <PartActs part={part} parts={parts} change={change} edit={() => edit({ id: part.id })} />
          )}
        />
      )}
      {edited && (
        <PartDialog
          choices={parts.find(({ id }) => id === edited.id)}
          queries={queries}
          done={done}
          close={() => edit(undefined)}
        />
      )}
    </>
  )
}

/** Equal unless the initial filters or the time of a round differ. */
const shownAnew = ({ filters, refresh_seconds: seconds }: DashboardDraft) =>
  JSON.stringify([filters.map(({ param, default: first }) => [param, first]), seconds])
