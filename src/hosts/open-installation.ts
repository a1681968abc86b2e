import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { prepareControlDatabase } from '../postgres/control-database.ts'
import { type Databases, openDatabases } from '../postgres/databases.ts'
import { readMigrations } from '../postgres/migrate.ts'
import { deriveSecrets } from '../secrets.ts'
import { isSecret } from './check-secret.ts'
import type { AccountsContext } from './installation.ts'
import { type ServiceKeys, settleSecret } from './installation-secrets.ts'
import { loadHosts } from './load-hosts.ts'
import { prepareHosts } from './prepare-hosts.ts'

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
    if (keys.nextSecret !== undefined) {
      const isRotated = await isSecret(databases.control, keys.nextSecret)
      await settleSecret(config, isRotated)
      if (isRotated) return await reopen(databases, config, { ...keys, secret: keys.nextSecret }, log)
    }
    await loadHosts(accounts)
    return { accounts, isFirstStart, hostsLeft: await prepareHosts(accounts) }
  } catch (error) {
    await databases.close().catch(() => undefined)
    throw error
  }
}

/** A rotation of the secret was cut off after it had been decided: what is open here has the old one. */
async function reopen(
  databases: Databases,
  config: Config,
  keys: ServiceKeys,
  log: Log,
): Promise<OpenAccounts> {
  await databases.close()
  log.warn('the secret was being changed when the process ended: going on with the new one')
  return openAccounts(config, { ...keys, nextSecret: undefined }, log)
}

/** The same folder seen from src/ and from dist/. */
const migrationsIn = (folder: string) => fileURLToPath(new URL(`../../migrations/${folder}`, import.meta.url))
