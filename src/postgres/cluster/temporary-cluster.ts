import { lstat, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../../log/log.ts'
import { ClusterError } from './cluster-error.ts'
import { startEmbeddedCluster } from './embedded-cluster.ts'
import { type ClusterHome, openHome } from './home.ts'
import { takeLock } from './lock.ts'
import { removeTree } from './owned-files.ts'
import { findPostmaster, stopPostmaster } from './postmaster.ts'
import { type ClusterBackup, restoreCluster } from './restore.ts'

/**
 * Unpacks a base backup into a folder and runs it on a private socket while `work` reads it. Nothing of it is left, except
 * by a process that was killed: see `removeAllAbandoned`.
 */
export async function withTemporaryCluster<T>(
  folder: string,
  backup: Omit<ClusterBackup, 'beforeUse' | 'isTemporary'>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const { log, signal } = backup
  const home = await openHome(folder, log)
  const lock = await takeLock(home, lockOf(home), 'exclusive', 0)
  if (!lock) throw new ClusterError(`another restore works in ${folder}: wait until it has ended`)
  try {
    await endServer(home)
    await removeTree(home.dataPath)
    await restoreCluster(folder, { ...backup, isTemporary: true })
    const cluster = await startEmbeddedCluster({
      dataDir: folder,
      log,
      settings,
      isEphemeral: true,
      ...(signal && { signal }),
    })
    try {
      return await work(cluster.url)
    } finally {
      await cluster.stop()
    }
  } finally {
    await removeAll(home, folder)
    await lock.release()
  }
}

/** Where commands run backups. */
export const temporaryFolder = (dataDir: string) => join(dataDir, 'restore')

/** Where the service does, whose user may not write where root may. */
export const serviceFolder = (dataDir: string) => join(dataDir, 'restores')
export const temporaryServiceFolder = (dataDir: string) => join(serviceFolder(dataDir), 'running')

/** Ends and removes what killed processes have left in both. True if there was any. */
export async function removeAllAbandoned(dataDir: string, log: Pick<Log, 'info'>): Promise<boolean> {
  const ofCommand = await removeAbandoned(temporaryFolder(dataDir), log)
  return (await removeAbandoned(temporaryServiceFolder(dataDir), log)) || ofCommand
}

/** One at work is left alone. */
async function removeAbandoned(folder: string, log: Pick<Log, 'info'>): Promise<boolean> {
  const isThere = await lstat(join(folder, 'postgres')).then(
    () => true,
    () => false,
  )
  if (!isThere) return false
  const home = await openHome(folder, log)
  const lock = await takeLock(home, lockOf(home), 'exclusive', 0)
  if (!lock) return false
  try {
    await removeAll(home, folder)
  } finally {
    await lock.release()
  }
  return true
}

const lockOf = (home: ClusterHome) => join(home.directory, 'restore.lock')

async function removeAll(home: ClusterHome, folder: string): Promise<void> {
  await endServer(home)
  await removeTree(home.directory)
  await rm(home.socketDirectory, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
}

async function endServer(home: ClusterHome): Promise<void> {
  const running = await findPostmaster(home)
  if (running) await stopPostmaster(running.pid, 'at once')
}

/** The cluster is deleted after use, so autovacuum is not needed. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '60',
}
