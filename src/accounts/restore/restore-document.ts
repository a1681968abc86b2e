import type { RestoreDocument } from '../../contract/documents.ts'
import type { UserRestore } from './user-restore-store.ts'

/** A restore of a user as the admin API shows it. */
export const restoreDocument = (restore: UserRestore): RestoreDocument => ({
  id: restore.id,
  file: restore.file,
  backup_of: restore.backupOf.toISOString(),
  username: restore.username,
  restored_as: restore.restoredAs,
  phase: restore.phase,
  progress: restore.progress,
  error: restore.error,
  keys: restore.keys,
  created_at: restore.createdAt.toISOString(),
  ended_at: restore.endedAt?.toISOString() ?? null,
})
