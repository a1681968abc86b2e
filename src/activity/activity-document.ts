import type {
  ActivityDocument,
  ActivityStatement,
  OwnActivity,
  StoppedActivity,
} from '../contract/documents.ts'
import type { Activity } from '../jobs/activity-store.ts'
import type { ListedActivity, ListedStatement } from './list-activity.ts'
import type { ActivityStops } from './stop-activity.ts'

/** The same for the admin API and for the command line. */
export function activityDocument(
  { running, waiting, left }: Activity,
  { statements, left: leftStatements, silent }: ListedActivity,
): ActivityDocument {
  return {
    running: running.map(({ id, startedAt, ...job }) => ({
      job_id: id,
      ...job,
      started_at: startedAt.toISOString(),
    })),
    waiting: waiting.map(({ oldestAt, ...user }) => ({ ...user, oldest_at: oldestAt.toISOString() })),
    statements: statements.map(statementDocument),
    left_out: { ...left, statements: leftStatements },
    silent_processes: silent,
  }
}

function statementDocument(one: ListedStatement): ActivityStatement {
  const { id, username, key, kind, host, since, waitsFor, waitEvent, blockedBy, text, isCut } = one
  return {
    id,
    username,
    key,
    kind,
    since: since.toISOString(),
    host,
    waits_for: waitsFor,
    wait_event: waitEvent,
    blocked_by: blockedBy,
    text,
    text_is_cut: isCut,
  }
}

/** For the account itself: without hosts, and what belongs to others. */
export const ownActivityDocument = ({ statements, left, silent }: ListedActivity): OwnActivity => ({
  statements: statements.map(({ id, key, kind, since, waitsFor, text, isCut }) => ({
    id,
    key,
    kind,
    since: since.toISOString(),
    waits_for: waitsFor,
    text,
    text_is_cut: isCut,
  })),
  left_out: left,
  silent_processes: silent,
})

export function stoppedDocument({ stopped, silent }: ActivityStops): StoppedActivity {
  return {
    stopped: stopped.map(({ id, username, kind, hasEnded }) => ({ id, username, kind, has_ended: hasEnded })),
    silent_processes: silent,
  }
}
