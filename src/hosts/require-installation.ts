import type { Config } from '../config/config.ts'
import { errors } from '../errors.ts'
import type { Log } from '../log/log.ts'
import { openDatabases } from '../postgres/databases.ts'
import { firstHostId } from '../postgres/hosts.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { deriveSecrets } from '../secrets.ts'

/** Only `cartage serve` creates an installation. All other commands need an existing one. */
export async function requireInstallation(config: Config, adminUrl: string, log: Log): Promise<void> {
  const databases = openDatabases(config, adminUrl, deriveSecrets(''), log)
  try {
    const { rowCount } = await databases.admin.use(adminTarget(databases.hosts, firstHostId), (session) =>
      session.query('select from pg_catalog.pg_database where datname = $1', [config.namespace]),
    )
    if (!rowCount) throw errors.installationMissing(config.namespace)
  } finally {
    await databases.close()
  }
}
