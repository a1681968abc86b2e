import { Notice } from '../parts/notice.tsx'
import type { Conflict, ReadBoard } from './use-board.ts'

type ConflictNoticeProps = Readonly<{
  conflict: Conflict
  isBusy: boolean
  load: (theirs: ReadBoard) => void
  replace: () => Promise<void>
  removeTheirs: () => Promise<void>
}>

/** Another person has saved or deleted the dashboard since it was read. */
export function ConflictNotice({ conflict, isBusy, load, replace, removeTheirs }: ConflictNoticeProps) {
  const { refused, theirs } = conflict
  const act = (label: string, run: () => Promise<void>, look?: 'danger') => (
    <button type="button" class={look} disabled={isBusy} onClick={() => void run()}>
      {label}
    </button>
  )
  if (!theirs)
    return (
      <Notice kind="warning" acts={act('Save it again', replace)}>
        <strong>Somebody has deleted this dashboard meanwhile.</strong>
      </Notice>
    )
  const isSave = refused === 'saved'
  return (
    <Notice
      kind="warning"
      acts={
        <>
          <button type="button" onClick={() => load(theirs)}>
            Load theirs
          </button>
          {isSave ? act('Replace theirs', replace, 'danger') : act('Delete theirs', removeTheirs, 'danger')}
        </>
      }
    >
      <strong>
        Somebody has saved this dashboard meanwhile. {isSave ? 'Yours is not saved.' : 'It is not deleted.'}
      </strong>
      <p>
        Their title is “{theirs.board.title}”. Load theirs: your changes are lost.{' '}
        {isSave ? 'Replace theirs: what they saved is lost.' : 'Delete theirs: the dashboard is deleted.'}
      </p>
    </Notice>
  )
}
