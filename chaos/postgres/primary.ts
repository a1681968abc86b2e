import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createLog } from '../../src/log/log.ts'
import { startEmbeddedCluster } from '../../src/postgres/cluster/embedded-cluster.ts'
import { isServerProcess } from '../../src/postgres/cluster/processes.ts'
import { continueAll, killAll } from './stop-processes.ts'

/** A server that accepts writes, restarted whenever it dies, until it is shut off. */
export type Primary = Readonly<{
  url: string
  port: number
  dataDir: string
  /** The working folder of all its processes. */
  dataPath: string
  /**
   * Signals its first process, or one of its backends. Throws if that has ended: its pid may be another program's by
   * now.
   */
  signal: (name: NodeJS.Signals, pid?: number) => void
  /** Ends it for good; its replica has everything, unless that is stuck. */
  shutOff: () => Promise<void>
  /** Ends it for good immediately. */
  shutOffAtOnce: () => Promise<void>
  /** Shuts it off and removes its files. */
  remove: () => Promise<void>
}>

export async function startPrimary(dataDir: string): Promise<Primary> {
  // Its shared memory is in its folder, where none of it outlives a killed server.
  const settings = { dynamic_shared_memory_type: 'mmap' }
  const cluster = await startEmbeddedCluster({ dataDir, log: createLog('silent'), isOnTcp: true, settings })
  const dataPath = join(cluster.directory, 'data')
  const signal = (name: NodeJS.Signals, pid = cluster.pid) => {
    if (!isServerProcess(pid, dataPath)) throw new Error('the process has gone')
    process.kill(pid, name)
  }
  const shutOff = async () => {
    const stopped = cluster.stop()
    continueAll(dataPath)
    await stopped
    await killAll(dataPath)
  }
  const shutOffAtOnce = async () => {
    // From here on nothing restarts it.
    const stopped = cluster.stop()
    await killAll(dataPath)
    await stopped
    await killAll(dataPath)
  }
  const remove = async () => {
    await shutOffAtOnce()
    for (const path of [cluster.directory, dataDir]) await rm(path, { recursive: true, force: true })
  }
  return {
    url: cluster.url,
    port: cluster.port,
    dataDir,
    dataPath,
    signal,
    shutOff,
    shutOffAtOnce,
    remove,
  }
}
