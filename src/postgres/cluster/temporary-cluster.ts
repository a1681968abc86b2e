import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ClusterError } from './cluster-error.ts'
import { startEmbeddedCluster } from './embedded-cluster.ts'
import { type ClusterHome, openHome } from './home.ts'
import { takeLock } from './lock.ts'
import { removeTree } from './owned-files.ts'
import { findPostmaster, stopPostmaster } from './postmaster.ts'
import { type ClusterBackup, restoreCluster } from './restore.ts'

/**
 * Unpacks a base backup into a folder and runs it on a private socket while `work` reads it. Nothing of it is left, except
 * by a process that was killed: the next one in the same folder removes that first.
 */
export async function withTemporaryCluster<T>(
  folder: string,
  backup: Omit<ClusterBackup, 'beforeUse' | 'isTemporary'>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const { log } = backup
  const home = await openHome(folder, log)
  const lock = await takeLock(home, join(home.directory, 'restore.lock'), 'exclusive', 0)
  if (!lock) throw new ClusterError(`another restore works in ${folder}: wait until it has ended`)
  try {
    await endServer(home)
    await removeTree(home.dataPath)
    await restoreCluster(folder, { ...backup, isTemporary: true })
    const cluster = await startEmbeddedCluster({ dataDir: folder, log, settings, isEphemeral: true })
    try {
      return await work(cluster.url)
    } finally {
      await cluster.stop()
    }
  } finally {
    await endServer(home)
    await removeTree(home.directory)
    await rm(home.socketDirectory, { recursive: true, force: true })
    await rm(folder, { recursive: true, force: true })
    await lock.release()
  }
}

async function endServer(home: ClusterHome): Promise<void> {
  const running = await findPostmaster(home)
  if (running) await stopPostmaster(running.pid, 'at once')
}

/** It is thrown away after use. Autovacuum would only be in the way. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '60',
}
