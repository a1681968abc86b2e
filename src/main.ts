import { once } from 'node:events'
import { createUser } from './accounts/create-user.ts'
import { requireInstallation } from './accounts/require-installation.ts'
import { loadOrCreateKeys, type ServiceKeys } from './accounts/service-keys.ts'
import { explainError } from './cli/explain-error.ts'
import { runCommandLine } from './cli/main.ts'
import { type Config, readConfig } from './config.ts'
import { createLog } from './log.ts'
import { requireCluster } from './postgres/cluster/installations.ts'
import { shareCluster } from './postgres/shared-cluster.ts'
import { type Service, type ServiceParts, startService } from './service.ts'

/** What `cartage` does with its arguments; answers the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const parts = partsOf(args)
    if (!parts) return await runCommandLine(args)
    await start(parts)
    return 0
  } catch (error) {
    const sentence = explainError(error)
    if (sentence === undefined) throw error
    process.stderr.write(`cartage: ${sentence}\n`)
    return 1
  }
}

/** `cartage serve` and `cartage worker` run until they are told to stop; everything else is a command. */
function partsOf([command, ...options]: readonly string[]): Partial<ServiceParts> | undefined {
  if (command === 'worker' && options.length === 0) return { http: false, worker: true }
  if (command !== 'serve') return undefined
  if (options.length === 0) return {}
  return options.length === 1 && options[0] === '--no-worker' ? { worker: false } : undefined
}

/** Runs until SIGINT or SIGTERM, then stops what it started, in order. */
export async function start(parts: Partial<ServiceParts> = {}): Promise<void> {
  const config = readConfig()
  const log = createLog(config.logLevel)
  const signal = toldToStop()
  const isWorkerAlone = parts.http === false
  if (isWorkerAlone && !config.databaseUrl) await requireCluster(config.dataDir)
  const cluster = config.databaseUrl
    ? undefined
    : await shareCluster({ dataDir: config.dataDir, log, signal })
  try {
    if (isWorkerAlone) await requireInstallation(config, cluster?.url ?? config.databaseUrl, log)
    const keys = await loadOrCreateKeys(config, cluster?.url)
    const service = await startService(config, keys, { http: true, worker: config.worker, ...parts }, log)
    if (service.url) await welcome(config, keys, service)
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

/** What a person needs for the first request. */
async function welcome(config: Config, keys: ServiceKeys, service: Service): Promise<void> {
  process.stdout.write(`\nCartage listens on ${service.url}\n`)
  if (config.databaseUrl || !service.isFirstStart || !config.demoUser) return
  const { masterToken } = await createUser(service.services.accounts, { username: 'demo' })
  const base = `${service.url}/user/demo`
  process.stdout.write(`
  base URL    ${base}
  user        demo
  master key  ${masterToken}
  admin token ${keys.adminToken}

  curl '${base}/api/v2/sql?q=select+postgis_version()&api_key=${masterToken}'

`)
}
