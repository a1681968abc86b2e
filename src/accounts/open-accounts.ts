import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { prepareControlDatabase } from '../postgres/control-database.ts'
import { openDatabases } from '../postgres/databases.ts'
import { readMigrations } from '../postgres/migrate.ts'
import { deriveSecrets } from '../secrets.ts'
import type { AccountsContext } from './accounts-context.ts'
import { loadHosts } from './host-store.ts'
import { prepareHosts } from './prepare-hosts.ts'
import type { ServiceKeys } from './service-keys.ts'

export type OpenAccounts = Readonly<{
  accounts: AccountsContext
  isFirstStart: boolean
  /** Hosts that did not answer and are still to be brought up to date. */
  hostsLeft: readonly number[]
}>

/** Connects to an installation and brings it up to date: control database, templates, every tenant. The caller closes it. */
export async function openAccounts(config: Config, keys: ServiceKeys, log: Log): Promise<OpenAccounts> {
  const secrets = deriveSecrets(keys.secret)
  const databases = openDatabases(config, keys.adminUrl, secrets, log)
  try {
    const controlMigrations = await readMigrations(migrationsIn('control'))
    const tenantMigrations = await readMigrations(migrationsIn('tenant'))
    const hostMigrations = await readMigrations(migrationsIn('host'))
    const isFirstStart = await prepareControlDatabase(databases, config.namespace, controlMigrations)
    const { namespace } = config
    const accounts = { namespace, databases, secrets, tenantMigrations, hostMigrations, log }
    await loadHosts(accounts)
    return { accounts, isFirstStart, hostsLeft: await prepareHosts(accounts) }
  } catch (error) {
    await databases.close().catch(() => undefined)
    throw error
  }
}

/** The same folder seen from src/ and from dist/. */
const migrationsIn = (folder: string) => fileURLToPath(new URL(`../../migrations/${folder}`, import.meta.url))
