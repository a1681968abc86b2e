import { type Config, readConfig } from './config.ts'
import { giveUpRoot } from './give-up-root.ts'
import { createLog, type Log } from './log.ts'
import { requireCluster } from './postgres/cluster/installations.ts'
import { type SharedCluster, shareCluster } from './postgres/cluster/shared-cluster.ts'
import type { ServiceParts } from './service.ts'
import { terminalLog } from './terminal-log.ts'

/** Runs until the signal fires, then stops what it started, in order. Told while it starts, it ends just as quietly. */
export async function serve(parts: Partial<ServiceParts>, signal: AbortSignal): Promise<void> {
  const config = readConfig()
  const log = openLog(config)
  let cluster: SharedCluster | undefined
  try {
    if (!config.databaseUrl) cluster = await openCluster(config, parts, log, signal)
    const { runService, prepareForUser, settledSecrets } = await loadService()
    // As root: only root may read and change the files of the secrets that root made.
    const keys = await settledSecrets(config, cluster?.url, log, signal)
    await giveUpRoot(cluster?.owner, prepareForUser, log)
    await runService(config, keys, parts, log, signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    await cluster?.stop()
    // What took too long to stop was left behind, and must not keep the process.
    setTimeout(() => process.exit(), leftBehindMs).unref()
  }
  log.info('stopped')
}

const leftBehindMs = 500

/** Nine tenths of the code, which the cluster does without. */
const loadService = () => import('./run-service.ts')

async function openCluster(
  { dataDir }: Config,
  { http }: Partial<ServiceParts>,
  log: Log,
  signal: AbortSignal,
): Promise<SharedCluster> {
  if (http === false) await requireCluster(dataDir)
  log.info({ dataDir }, 'opening the embedded PostgreSQL')
  // PostgreSQL starts on another core while this process reads its code. What is wrong with that is told when it is used.
  const onLaunch = () => void loadService().catch(() => undefined)
  return shareCluster({ dataDir, log, signal, onLaunch })
}

/** Text for a person who watches, JSON for a program that collects. */
function openLog({ logLevel, logFormat }: Config): Log {
  const isText = logFormat === 'text' || (logFormat === 'auto' && process.stdout.isTTY)
  const showsRequests = ['debug', 'trace'].includes(logLevel)
  return createLog(logLevel, isText ? terminalLog(process.stdout, showsRequests) : undefined)
}
