import { once } from 'node:events'
import { createUser } from '../accounts/create-user.ts'
import type { Config } from '../config/config.ts'
import { connectInstallation } from '../hosts/open-installation.ts'
import { requireInstallation } from '../hosts/require-installation.ts'
import { type InstallationSecrets, loadOrCreateSecrets } from '../hosts/secret/installation-secrets.ts'
import { holdReference } from '../http/openapi/reference.ts'
import type { Log } from '../log/log.ts'
import { fitConnections } from '../postgres/fit-connections.ts'
import { loadGrammar } from '../sql/grammar.ts'
import { unlessAborted } from '../waiting/unless-aborted.ts'
import { type RunningService, type ServiceParts, startService } from './service.ts'

/** The secrets of the installation, after completing or undoing in their files a rotation that was cut off. */
export async function settledSecrets(
  config: Config,
  clusterUrl: string | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<InstallationSecrets> {
  const keys = await loadOrCreateSecrets(config, clusterUrl)
  if (clusterUrl === undefined || config.secret || keys.nextSecret === undefined) return keys
  const { installation } = await unlessAborted(signal, connectInstallation(config, keys, log))
  await installation.databases.close()
  return loadOrCreateSecrets(config, clusterUrl)
}

/** Loads what is usually loaded on first use: later this process may not be allowed to read it. */
export async function prepareForUser(): Promise<void> {
  await Promise.all([loadGrammar(), holdReference()])
}

/** Runs the service on its cluster, or on the configured one, until the signal fires. */
export async function runService(
  config: Config,
  keys: InstallationSecrets,
  parts: Partial<ServiceParts>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const service = await start(config, keys, parts, log, signal)
  if (service.url) await welcome(config, service, log)
  const end = AbortSignal.any([signal, service.lost])
  if (!end.aborted) await once(end, 'abort')
  log.info('stopping')
  await service.stop()
  service.lost.throwIfAborted()
}

async function start(
  config: Config,
  keys: InstallationSecrets,
  parts: Partial<ServiceParts>,
  log: Log,
  signal: AbortSignal,
): Promise<RunningService> {
  if (parts.http === false) await unlessAborted(signal, requireInstallation(config, keys.adminUrl, log))
  const fitted = await unlessAborted(signal, fitConnections(config, keys.adminUrl, log))
  return startService(fitted, keys, { http: true, worker: config.worker, ...parts }, log, signal)
}

/** Tells what is needed for the first request: a person at a terminal with the key, a log only how to read it. */
async function welcome(config: Config, service: RunningService, log: Log): Promise<void> {
  const { url } = service
  const isNew = !config.databaseUrl && service.isFirstStart && config.demoUser
  const demo = isNew ? await createUser(service.services.installation, { username: 'demo' }) : undefined
  if (process.stdout.isTTY) process.stdout.write(greeting(url, demo?.masterToken, config))
  else tellLog(log, url, demo !== undefined)
}

/** At every log level, because programs wait for it. */
function tellLog(log: Log, url: string, hasDemo: boolean): void {
  const demo = { user: 'demo', base: `${url}/user/demo`, readKey: 'cartage user show demo --key' }
  log
    .child({}, { level: 'info' })
    .info(
      { url, reference: `${url}/docs`, console: `${url}/console/`, ...(hasDemo && demo) },
      `Cartage listens on ${url}`,
    )
}

function greeting(url: string, token: string | undefined, config: Config): string {
  return `
Cartage listens on ${url}

  reference     ${url}/docs
${token === undefined ? keyHint : firstRequest(url, token, config)}
  console       ${url}/console/
`
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
