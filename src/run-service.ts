import { once } from 'node:events'
import { createUser } from './accounts/create-user.ts'
import type { Config } from './config.ts'
import { loadOrCreateSecrets } from './hosts/installation-secrets.ts'
import { requireInstallation } from './hosts/require-installation.ts'
import type { Log } from './log.ts'
import { fitConnections } from './postgres/fit-connections.ts'
import { type Service, type ServiceParts, startService } from './service.ts'

/** Runs the service on its cluster, or on the one that the configuration names, until the signal fires. */
export async function runService(
  config: Config,
  clusterUrl: string | undefined,
  parts: Partial<ServiceParts>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  if (parts.http === false) await requireInstallation(config, clusterUrl ?? config.databaseUrl, log)
  const keys = await loadOrCreateSecrets(config, clusterUrl)
  const fitted = await fitConnections(config, keys.adminUrl, log)
  const service = await startService(fitted, keys, { http: true, worker: config.worker, ...parts }, log)
  if (service.url) await welcome(config, service)
  const end = AbortSignal.any([signal, service.lost])
  if (!end.aborted) await once(end, 'abort')
  log.info('stopping')
  await service.stop()
  service.lost.throwIfAborted()
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
