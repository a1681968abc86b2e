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

/** A dashboard as it was read. Without an ETag it is new. */
export type ReadBoard = Readonly<{ board: DashboardDraft; etag: string | undefined }>

/** What somebody else has saved meanwhile; undefined if it was deleted. */
export type Conflict = Readonly<{ theirs: ReadBoard | undefined }>

/** The draft of a dashboard, and how it is saved, without overwriting what somebody else has saved. */
export function useBoard(initial: ReadBoard) {
  const [base, setBase] = useState(initial)
  const [draft, setDraft] = useState(initial.board)
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined)
  const { isBusy, error, begin } = useWork()
  const saveOver = (etag: string | undefined) =>
    begin(async () => {
      setConflict(undefined)
      try {
        await saveDashboard(draft.name, definitionOf(draft), etag)
      } catch (error) {
        if (!isChangedSince(error)) throw error
        setConflict({ theirs: await readTheirs(draft.name) })
        return tell('Somebody has changed this dashboard meanwhile. Nothing was saved')
      }
      toast('Dashboard saved')
      leaveTo(pathOfDashboard(draft.name))
    })
  const load = (theirs: ReadBoard) => {
    setConflict(undefined)
    if (initial.etag === undefined) return leaveTo(pathOfDashboard(draft.name, 'edit'))
    setBase(theirs)
    setDraft(theirs.board)
  }
  const remove = () =>
    begin(async () => {
      await deleteDashboard(draft.name)
      toast('Dashboard deleted')
      leaveTo('/dashboards')
    })
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
    remove,
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

/** Without the question about changes: they are saved, or of no use. */
function leaveTo(path: string): void {
  guardLeaving(undefined)
  navigate(path)
}
