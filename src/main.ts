import { once } from 'node:events'
import { createUser } from './accounts/create-user.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { createLog } from './log.ts'
import { ClusterError } from './postgres/cluster/cluster-error.ts'
import { startEmbeddedCluster } from './postgres/embedded-cluster.ts'
import { type Service, type ServiceKeys, type ServiceParts, startService } from './service.ts'
import { loadOrCreateKeys } from './service-keys.ts'

/** Runs until SIGINT or SIGTERM, then stops what it started, in order. */
export async function start(parts: Partial<ServiceParts> = {}): Promise<void> {
  try {
    await run(parts)
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof ClusterError)) throw error
    process.stderr.write(`cartage: ${error.message}\n`)
    process.exitCode = 1
  }
}

async function run(parts: Partial<ServiceParts>): Promise<void> {
  const config = readConfig()
  const log = createLog(config.logLevel)
  const signals = new AbortController()
  const told = Promise.race([once(process, 'SIGINT', signals), once(process, 'SIGTERM', signals)])
  const cluster = config.databaseUrl
    ? undefined
    : await startEmbeddedCluster({ dataDir: config.dataDir, log })
  try {
    const keys = await loadOrCreateKeys(config, cluster?.url)
    const service = await startService(config, keys, { http: true, worker: config.worker, ...parts }, log)
    if (service.url) await welcome(config, keys, service)
    await told
    log.info('stopping')
    await service.stop()
  } finally {
    signals.abort()
    await cluster?.stop()
  }
  log.info('stopped')
}

/** What a person needs for the first request. */
async function welcome(config: Config, keys: ServiceKeys, service: Service): Promise<void> {
  process.stdout.write(`\nCartage listens on ${service.url}\n`)
  if (config.databaseUrl || !service.isFirstStart || !config.demoUser) return
  const { masterToken } = await createUser(service.services.accounts, { username: 'demo' })
  const base = `${service.url}/user/demo`
  process.stdout.write(
    [
      '',
      `  base URL    ${base}`,
      '  user        demo',
      `  master key  ${masterToken}`,
      `  admin token ${keys.adminToken}`,
      '',
      `  curl '${base}/api/v2/sql?q=select+postgis_version()&api_key=${masterToken}'`,
      '',
      '',
    ].join('\n'),
  )
}
