import { once } from 'node:events'
import { createUser } from './accounts/create-user.ts'
import { type Config, readConfig } from './config.ts'
import { loadOrCreateSecrets } from './hosts/installation-secrets.ts'
import { requireInstallation } from './hosts/require-installation.ts'
import { createLog, type Log } from './log.ts'
import { requireCluster } from './postgres/cluster/installations.ts'
import { shareCluster } from './postgres/cluster/shared-cluster.ts'
import { fitConnections } from './postgres/fit-connections.ts'
import { type Service, type ServiceParts, startService } from './service.ts'
import { terminalLog } from './terminal-log.ts'

/** Runs until SIGINT or SIGTERM, then stops what it started, in order. */
export async function serve(parts: Partial<ServiceParts>): Promise<void> {
  const config = readConfig()
  const log = openLog(config)
  const signal = toldToStop()
  const isWorkerAlone = parts.http === false
  if (isWorkerAlone && !config.databaseUrl) await requireCluster(config.dataDir)
  if (!config.databaseUrl) log.info({ dataDir: config.dataDir }, 'opening the embedded PostgreSQL')
  const cluster = config.databaseUrl
    ? undefined
    : await shareCluster({ dataDir: config.dataDir, log, signal })
  try {
    if (isWorkerAlone) await requireInstallation(config, cluster?.url ?? config.databaseUrl, log)
    const keys = await loadOrCreateSecrets(config, cluster?.url)
    const fitted = await fitConnections(config, keys.adminUrl, log)
    const service = await startService(fitted, keys, { http: true, worker: config.worker, ...parts }, log)
    if (service.url) await welcome(config, service)
    const end = AbortSignal.any([signal, service.lost])
    if (!end.aborted) await once(end, 'abort')
    log.info('stopping')
    await service.stop()
    service.lost.throwIfAborted()
  } finally {
    await cluster?.stop()
  }
  log.info('stopped')
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

/** What a person needs for the first request, after everything else. */
async function welcome(config: Config, service: Service): Promise<void> {
  const { url } = service
  const isNew = !config.databaseUrl && service.isFirstStart && config.demoUser
  const demo = isNew ? await createUser(service.services.accounts, { username: 'demo' }) : undefined
  process.stdout.write(`
Cartage listens on ${url}

  reference     ${url}/docs
${demo ? firstRequest(url, demo.masterToken, config) : keyHint}
  console       ${url}/console/
`)
}

const keyHint = "  a user's key  cartage user show NAME --key\n"

function firstRequest(url: string, token: string, { dataDir }: Config): string {
  return `
  user          demo
  admin token   in ${dataDir}/admin-token

  BASE=${url}/user/demo
  KEY=${token}
  curl "$BASE/api/v2/sql" --data-urlencode "q=select postgis_version()" -d "api_key=$KEY"
`
}
