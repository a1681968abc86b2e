import { Notice } from '../parts/notice.tsx'
import type { Conflict, ReadBoard } from './use-board.ts'

type SaveConflictProps = Readonly<{
  conflict: Conflict
  isBusy: boolean
  load: (theirs: ReadBoard) => void
  replace: () => Promise<void>
}>

/** Somebody else has saved the dashboard since it was read. */
export function SaveConflict({ conflict: { theirs }, isBusy, load, replace }: SaveConflictProps) {
  const replaceButton = (
    <button type="button" class={theirs && 'danger'} disabled={isBusy} onClick={() => void replace()}>
      {theirs ? 'Replace theirs' : 'Save it again'}
    </button>
  )
  if (!theirs)
    return (
      <Notice kind="warning" acts={replaceButton}>
        <strong>Somebody has deleted this dashboard meanwhile.</strong>
      </Notice>
    )
  return (
    <Notice
      kind="warning"
      acts={
        <>
          <button type="button" onClick={() => load(theirs)}>
            Load theirs
          </button>
          {replaceButton}
        </>
      }
    >
      <strong>Somebody has saved this dashboard meanwhile. Yours is not saved.</strong>
      <p>
        Their title is “{theirs.board.title}”. Load theirs: your changes are lost. Replace theirs: what they
        saved is lost.
      </p>
    </Notice>
  )
}
