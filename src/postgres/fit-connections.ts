import type { Config } from '../config/config.ts'
import type { Log } from '../log/log.ts'
import { connectionBudget, jobConnections, tenantConnections } from './databases.ts'
import { adminLogin, firstHostId, hostFromUrl } from './hosts.ts'
import { ScramClient } from './wire/scram-client.ts'

/**
 * Lowers the connection limits to what the server can take: its maximum minus its reserve and the connections in use.
 * Otherwise requests would fail that could have waited.
 */
export async function fitConnections(config: Config, adminUrl: string, log: Log): Promise<Config> {
  const room = await roomOn(adminUrl)
  // Without tenants there.
  if (room === undefined) return config
  const wanted = connectionBudget(config, firstHostId)
  if (wanted <= room) return config
  const fitted = shrink(config, room)
  const { connectionsPerHost, copiesPerProcess, jobConnectionsPerHost } = fitted
  const { sessionConnectionsPerHost, tilesPerHost } = fitted
  log.warn(
    {
      wanted,
      room,
      connectionsPerHost,
      copiesPerProcess,
      jobConnectionsPerHost,
      sessionConnectionsPerHost,
      tilesPerHost,
    },
    'PostgreSQL allows fewer connections than configured: limits lowered. Raise its max_connections',
  )
  return fitted
}

/** Every kind of work gives up the same share; the service's own connections stay. */
function shrink(config: Config, room: number): Config {
  const forTenants = tenantConnections(config)
  const forService = connectionBudget(config, firstHostId) - forTenants
  const share = Math.max(0, room - forService) / forTenants
  const part = (count: number, least: number) => Math.max(least, Math.floor(count * share))
  const jobConnectionsPerHost = part(jobConnections(config), 2)
  const jobsPerWorker = Math.min(config.jobsPerWorker, Math.floor(jobConnectionsPerHost / 2))
  return Object.freeze({
    ...config,
    connectionsPerHost: part(config.connectionsPerHost, 2),
    copiesPerProcess: part(config.copiesPerProcess, 1),
    sessionConnectionsPerHost: part(config.sessionConnectionsPerHost, 1),
    tilesPerHost: part(config.tilesPerHost, 1),
    jobConnectionsPerHost,
    jobsPerWorker,
    importsPerWorker: Math.min(config.importsPerWorker, jobConnectionsPerHost - jobsPerWorker),
  })
}

/** Undefined: the login is no superuser, so only the control database is there. */
async function roomOn(adminUrl: string): Promise<number | undefined> {
  const host = hostFromUrl(firstHostId, 'local', adminUrl)
  const client = new ScramClient({
    ...(await host.primary.find()),
    ...adminLogin(host),
    options: '-c search_path=pg_catalog',
    connectionTimeoutMillis: 10_000,
    query_timeout: 10_000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ is_superuser: string }>('show is_superuser')
    if (rows[0]!.is_superuser === 'off') return undefined
    const { rows: settings } = await client.query<{ name: string; setting: string }>(
      `select name, setting from pg_catalog.pg_settings
       where name in ('max_connections', 'superuser_reserved_connections', 'reserved_connections')`,
    )
    const { rowCount } = await client.query(
      `select from pg_catalog.pg_stat_activity where backend_type in ('client backend')`,
    )
    const settingOf = (name: string) => Number(settings.find((each) => each.name === name)?.setting ?? 0)
    // One of the backends is this connection, which will close. reserved_connections exists since PostgreSQL 16.
    const reserved = settingOf('superuser_reserved_connections') + settingOf('reserved_connections')
    return settingOf('max_connections') - reserved - ((rowCount ?? 1) - 1)
  } finally {
    await client.end().catch(() => undefined)
  }
}
