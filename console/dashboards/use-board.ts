import { useState } from 'preact/hooks'
import { ApiError } from '../api/api-error.ts'
import { guardLeaving, navigate } from '../parts/browser/route.ts'
import { tell } from '../parts/live.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { boardOf, type DashboardDraft, definitionOf, isSameBoard } from './dashboard-draft.ts'
import {
  deleteDashboard,
  isChangedSince,
  openDashboard,
  pathOfDashboard,
  saveDashboard,
} from './dashboards-api.ts'

/** A dashboard as it was read; without an ETag it is a new one. */
export type ReadBoard = Readonly<{ board: DashboardDraft; etag: string | undefined }>

/** What was refused because another person has saved `theirs` meanwhile; undefined if it was deleted. */
export type Conflict = Readonly<{ refused: 'saved' | 'deleted'; theirs: ReadBoard | undefined }>

/** The draft of a dashboard, and how it is saved or deleted without losing another person's changes. */
export function useBoard(initial: ReadBoard) {
  const [base, setBase] = useState(initial)
  const [draft, setDraft] = useState(initial.board)
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined)
  const { isBusy, error, begin } = useWork()
  const finish = (what: Conflict['refused'], send: () => Promise<unknown>, next: string) =>
    begin(async () => {
      setConflict(undefined)
      try {
        await send()
      } catch (error) {
        if (!isChangedSince(error)) throw error
        setConflict({ refused: what, theirs: await readTheirs(draft.name) })
        return tell(`Somebody has changed this dashboard meanwhile. Nothing was ${what}`)
      }
      toast(`Dashboard ${what}`)
      leaveTo(next)
    })
  const saveOver = (etag: string | undefined) =>
    finish('saved', () => saveDashboard(draft.name, definitionOf(draft), etag), pathOfDashboard(draft.name))
  const removeOver = (etag: string | undefined) =>
    finish('deleted', () => deleteDashboard(draft.name, etag), '/dashboards')
  const load = (theirs: ReadBoard) => {
    setConflict(undefined)
    if (initial.etag === undefined) return leaveTo(pathOfDashboard(draft.name, 'edit'))
    setBase(theirs)
    setDraft(theirs.board)
  }
  return {
    base: base.board,
    draft,
    change: (some: Partial<DashboardDraft>) => setDraft((former) => ({ ...former, ...some })),
    isUnsaved: !isSameBoard(draft, base.board),
    conflict,
    isBusy,
    error,
    save: () => saveOver(base.etag),
    replace: () => saveOver(conflict?.theirs?.etag),
    load,
    remove: () => removeOver(base.etag),
    removeTheirs: () => removeOver(conflict?.theirs?.etag),
  }
}

export async function readBoard(name: string, signal?: AbortSignal): Promise<ReadBoard> {
  const { document, etag } = await openDashboard(name, signal)
  return { board: boardOf(document), etag }
}

async function readTheirs(name: string): Promise<ReadBoard | undefined> {
  try {
    return await readBoard(name)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

/** Without the question about changes: they are saved, or no longer needed. */
function leaveTo(path: string): void {
  guardLeaving(undefined)
  navigate(path)
}
