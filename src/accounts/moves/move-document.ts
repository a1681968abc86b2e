import type { MoveDocument } from '../../contract/documents.ts'
import type { Move } from './move.ts'

/** A move as the admin API and `--json` of the command line show it. */
export function moveDocument(move: Move): MoveDocument {
  return {
    id: move.id,
    username: move.username,
    organization: move.organization,
    from_host: move.fromHost,
    to_host: move.toHost,
    phase: move.phase,
    progress: move.progress,
    error: move.error,
    created_at: move.createdAt.toISOString(),
    stopped_at: move.stoppedAt?.toISOString() ?? null,
    served_at: move.servedAt?.toISOString() ?? null,
    ended_at: move.endedAt?.toISOString() ?? null,
  }
}
