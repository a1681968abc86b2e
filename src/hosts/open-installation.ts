import type { Config } from '../config/config.ts'
import { packageFile } from '../files/package-file.ts'
import type { Log } from '../log/log.ts'
import { prepareControlDatabase } from '../postgres/control/control-database.ts'
import { type Databases, openDatabases } from '../postgres/databases.ts'
import { readMigrations } from '../postgres/migrate.ts'
import { deriveSecrets } from '../secrets.ts'
import type { Installation } from './installation.ts'
import { loadHosts } from './load-hosts.ts'
import { prepareHosts } from './prepare-hosts.ts'
import { isSecret } from './secret/check-secret.ts'
import { type InstallationSecrets, settleSecret } from './secret/installation-secrets.ts'

export type ConnectedInstallation = Readonly<{ installation: Installation; isFirstStart: boolean }>

/** Connects to an installation and migrates it: control database, templates, every tenant. The caller closes it. */
export async function openInstallation(
  config: Config,
  given: InstallationSecrets,
  log: Log,
): Promise<Installation> {
  const { installation } = await connectInstallation(config, given, log)
  try {
    await prepareHosts(installation)
    return installation
  } catch (error) {
    await installation.databases.close().catch(() => undefined)
    throw error
  }
}

/** The same without `prepareHosts`. */
export async function connectInstallation(
  config: Config,
  given: InstallationSecrets,
  log: Log,
): Promise<ConnectedInstallation> {
  const secrets = deriveSecrets(given.secret)
  const databases = openDatabases(config, given.adminUrl, secrets, log)
  try {
    const [controlMigrations, tenantMigrations, hostMigrations] = await Promise.all([
      readMigrations(migrationsIn('control')),
      readMigrations(migrationsIn('tenant')),
      readMigrations(migrationsIn('host')),
    ])
    const isFirstStart = await prepareControlDatabase(databases, config.namespace, controlMigrations)
    const { namespace } = config
    const installation = { namespace, databases, secrets, tenantMigrations, hostMigrations, log }
    if (given.nextSecret !== undefined) {
      const isRotated = await isSecret(databases.control, given.nextSecret)
      await settleSecret(config, isRotated)
      if (isRotated) return await reconnect(databases, config, { ...given, secret: given.nextSecret }, log)
    }
    await loadHosts(installation)
    return { installation, isFirstStart }
  } catch (error) {
    await databases.close().catch(() => undefined)
    throw error
  }
}

/** A rotation of the secret was cut off after its commit: the open connections use the old secret. */
async function reconnect(
  databases: Databases,
  config: Config,
  given: InstallationSecrets,
  log: Log,
): Promise<ConnectedInstallation> {
  await databases.close()
  log.warn('a rotation of the secret was cut off after its commit: using the new secret')
  return connectInstallation(config, { ...given, nextSecret: undefined }, log)
}

const migrationsIn = (folder: string) => packageFile(`migrations/${folder}`)
