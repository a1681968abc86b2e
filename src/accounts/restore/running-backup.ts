import type { Log } from '../../log/log.ts'
import { chooseBinaries } from '../../postgres/cluster/embedded-cluster.ts'
import { withTemporaryCluster } from '../../postgres/cluster/temporary-cluster.ts'
import type { OpenBackup } from './backup-file.ts'
import type { Backup } from './saved-user.ts'

type BackupToRun = Readonly<{
  /** Where it is unpacked. Only one backup at a time is unpacked there. */
  folder: string
  opened: OpenBackup
  log: Pick<Log, 'info' | 'warn'>
  signal: AbortSignal
}>

/** Runs the backup as a cluster of its own while `work` reads it. */
export async function runningBackup<T>(
  { folder, opened: { note, tar }, log, signal }: BackupToRun,
  work: (backup: Backup) => Promise<T>,
): Promise<T> {
  const { namespace, postgres: major, created_at: createdAt } = note
  const binaries = await chooseBinaries(major)
  signal.throwIfAborted()
  // What unpacks it ends with it.
  const stop = () => tar.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await withTemporaryCluster(folder, { binaries, tar, log, signal }, (url) => {
      signal.throwIfAborted()
      return work({ url, namespace, major, createdAt })
    })
  } finally {
    signal.removeEventListener('abort', stop)
    tar.destroy()
  }
}
