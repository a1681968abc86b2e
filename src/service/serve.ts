import { type Config, importFolderOf, readConfig } from '../config/config.ts'
import { createLog, type Log } from '../log/log.ts'
import { terminalLog } from '../log/terminal-log.ts'
import { requireCluster } from '../postgres/cluster/installations.ts'
import { type SharedCluster, shareCluster } from '../postgres/cluster/shared-cluster.ts'
import { removeAllAbandoned, serviceFolder } from '../postgres/cluster/temporary-cluster.ts'
import { giveUpRoot } from './give-up-root.ts'
import type { ServiceParts } from './service.ts'

/**
 * Runs until the signal fires, then stops what it started, in reverse order. A signal during the start is handled the
 * same way.
 */
export async function serve(parts: Partial<ServiceParts>, signal: AbortSignal): Promise<void> {
  const config = readConfig()
  const log = openLog(config)
  let cluster: SharedCluster | undefined
  try {
    // As root, whose files they may be.
    await removeAllAbandoned(config.dataDir, log).catch((error: unknown) =>
      log.warn({ err: error }, 'what a killed restore has left cannot be removed: see cartage repair'),
    )
    if (!config.databaseUrl) cluster = await openCluster(config, parts, log, signal)
    const { runService, prepareForUser, settledSecrets } = await loadService()
    // As root: only root may read and change the secret files that root created.
    const keys = await settledSecrets(config, cluster?.url, log, signal)
    await giveUpRoot(cluster?.owner, ownFolders(config), prepareForUser, log)
    await runService(config, keys, parts, log, signal)
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error
  } finally {
    await cluster?.stop()
    // Parts that took too long to stop must not keep the process alive.
    setTimeout(() => process.exit(), leftBehindMs).unref()
  }
  log.info('stopped')
}

const leftBehindMs = 500

/** What the service writes to by itself. */
const ownFolders = (config: Config) => [
  importFolderOf(config),
  ...(config.backupDir ? [serviceFolder(config.dataDir)] : []),
]

/** Nine tenths of the code, which the cluster does not need. */
const loadService = () => import('./run-service.ts')

async function openCluster(
  { dataDir }: Config,
  { http }: Partial<ServiceParts>,
  log: Log,
  signal: AbortSignal,
): Promise<SharedCluster> {
  if (http === false) await requireCluster(dataDir)
  log.info({ dataDir }, 'opening the embedded PostgreSQL')
  // PostgreSQL starts on another core while this process loads its code. Errors in loading surface at its use.
  const onLaunch = () => void loadService().catch(() => undefined)
  return shareCluster({ dataDir, log, signal, onLaunch })
}

/** Text for a person at a terminal, JSON for a program. */
function openLog({ logLevel, logFormat }: Config): Log {
  const isText = logFormat === 'text' || (logFormat === 'auto' && process.stdout.isTTY)
  const showsRequests = ['debug', 'trace'].includes(logLevel)
  return createLog(logLevel, isText ? terminalLog(process.stdout, showsRequests) : undefined)
}
