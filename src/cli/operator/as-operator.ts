import { type Config, readConfig } from '../../config/config.ts'
import type { Installation } from '../../hosts/installation.ts'
import { openInstallation } from '../../hosts/open-installation.ts'
import { requireInstallation } from '../../hosts/require-installation.ts'
import { loadOrCreateSecrets } from '../../hosts/secret/installation-secrets.ts'
import { createLog } from '../../log/log.ts'
import { requireCluster } from '../../postgres/cluster/installations.ts'
import { shareCluster } from '../../postgres/cluster/shared-cluster.ts'

/**
 * Runs `work` on the databases of the installation that the environment describes. The service may be down and the admin
 * API may be off. If the embedded cluster does not run, it is started, and stopped afterwards.
 */
export async function asOperator<T>(
  work: (installation: Installation, config: Config, adminUrl: string) => Promise<T>,
): Promise<T> {
  const config = readConfig()
  const log = createLog('error', process.stderr)
  if (!config.databaseUrl) await requireCluster(config.dataDir)
  const cluster = config.databaseUrl ? undefined : await shareCluster({ dataDir: config.dataDir, log })
  try {
    const adminUrl = cluster?.url ?? config.databaseUrl
    await requireInstallation(config, adminUrl, log)
    const installation = await openInstallation(config, await loadOrCreateSecrets(config, cluster?.url), log)
    try {
      return await work(installation, config, adminUrl)
    } finally {
      await installation.databases.close()
    }
  } finally {
    await cluster?.stop()
  }
}
