import { fileURLToPath } from 'node:url'
import type { AccountsContext } from './accounts/accounts-context.ts'
import { loadHosts } from './accounts/host-store.ts'
import { repairAccounts } from './accounts/repair-accounts.ts'
import { migrateTenants, prepareTemplate } from './accounts/tenant-databases.ts'
import { Directory } from './auth/directory.ts'
import type { Config } from './config.ts'
import { buildServer } from './http/server.ts'
import type { Services } from './http/services.ts'
import type { Log } from './log.ts'
import { prepareControlDatabase } from './postgres/control-database.ts'
import { openDatabases } from './postgres/databases.ts'
import { readMigrations } from './postgres/migrate.ts'
import { deriveSecrets } from './secrets.ts'

/** What a process must be told besides its configuration. */
export type ServiceKeys = Readonly<{ adminUrl: string; secret: string; adminToken: string }>

export type ServiceParts = Readonly<{ http: boolean; worker: boolean }>

export type Service = Readonly<{
  /** Where it listens; empty without HTTP. */
  url: string
  isFirstStart: boolean
  services: Services
  stop: () => Promise<void>
}>

/** Brings a process up: databases, migrations, repair, then the doors that were asked for. */
export async function startService(
  config: Config,
  keys: ServiceKeys,
  parts: ServiceParts,
  log: Log,
): Promise<Service> {
  const secrets = deriveSecrets(keys.secret)
  const databases = openDatabases(config, keys.adminUrl, secrets, log)
  const directory = new Directory(databases.control, secrets, log)
  const stopping = { isReady: false }
  try {
    const isFirstStart = await prepareControlDatabase(
      databases,
      config.namespace,
      await readMigrations(migrationsIn('control')),
    )
    const tenantMigrations = await readMigrations(migrationsIn('tenant'))
    const accounts: AccountsContext = {
      namespace: config.namespace,
      databases,
      secrets,
      tenantMigrations,
      log,
    }
    await prepareTenants(accounts)
    await directory.start()
    const services: Services = {
      config,
      log,
      databases,
      secrets,
      directory,
      accounts,
      adminToken: keys.adminToken,
      isReady: () => stopping.isReady,
    }
    const server = parts.http ? await buildServer(services) : undefined
    const url = server ? await server.listen({ host: config.host, port: config.port }) : ''
    stopping.isReady = true
    const stop = async () => {
      stopping.isReady = false
      await phase(log, 'requests', config.shutdownGraceMs, async () => server?.close())
      directory.stop()
      await phase(log, 'connections', 5_000, () => databases.close())
    }
    return { url, isFirstStart, services, stop }
  } catch (error) {
    directory.stop()
    await databases.close().catch(() => undefined)
    throw error
  }
}

async function prepareTenants(accounts: AccountsContext): Promise<void> {
  await loadHosts(accounts)
  for (const host of accounts.databases.hosts.all()) await prepareTemplate(accounts, host.id)
  await migrateTenants(accounts)
  const removed = await repairAccounts(accounts)
  if (removed.length > 0) accounts.log.warn({ removed }, 'removed half-made accounts')
}

/** One step of the way down, with a limit: a stuck step is told and left behind. */
async function phase(log: Log, name: string, limitMs: number, work: () => Promise<unknown>): Promise<void> {
  const limit = new AbortController()
  const late = new Promise<'late'>((resolve) => {
    const timer = setTimeout(() => resolve('late'), limitMs)
    limit.signal.addEventListener('abort', () => clearTimeout(timer))
  })
  const outcome = await Promise.race([
    work().catch((error: unknown) => log.error({ err: error, phase: name }, 'stopping failed')),
    late,
  ])
  limit.abort()
  if (outcome === 'late') log.warn({ phase: name, limitMs }, 'stopping took too long')
}

/** The same folder seen from src/ and from dist/. */
const migrationsIn = (folder: string) => fileURLToPath(new URL(`../migrations/${folder}`, import.meta.url))
