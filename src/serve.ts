import { type Config, readConfig } from './config.ts'
import { createLog, type Log } from './log.ts'
import { requireCluster } from './postgres/cluster/installations.ts'
import { type SharedCluster, shareCluster } from './postgres/cluster/shared-cluster.ts'
import type { ServiceParts } from './service.ts'
import { terminalLog } from './terminal-log.ts'

/** Runs until SIGINT or SIGTERM, then stops what it started, in order. */
export async function serve(parts: Partial<ServiceParts>): Promise<void> {
  const config = readConfig()
  const log = openLog(config)
  const signal = toldToStop()
  const cluster = config.databaseUrl ? undefined : await openCluster(config, parts, log, signal)
  try {
    const { runService } = await loadService()
    await runService(config, cluster?.url, parts, log, signal)
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

/** Under npm one Ctrl-C arrives twice, from the terminal and from npm: the second must not kill us half-way. */
function toldToStop(): AbortSignal {
  const told = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => told.abort())
  return told.signal
}

/** Text for a person who watches, JSON for a program that collects. */
function openLog({ logLevel, logFormat }: Config): Log {
  const isText = logFormat === 'text' || (logFormat === 'auto' && process.stdout.isTTY)
  const showsRequests = ['debug', 'trace'].includes(logLevel)
  return createLog(logLevel, isText ? terminalLog(process.stdout, showsRequests) : undefined)
}
