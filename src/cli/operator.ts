import { type Config, readConfig } from '../config.ts'
import type { AccountsContext } from '../hosts/installation.ts'
import { loadOrCreateKeys } from '../hosts/installation-secrets.ts'
import { openAccounts } from '../hosts/open-installation.ts'
import { requireInstallation } from '../hosts/require-installation.ts'
import { createLog } from '../log.ts'
import { requireCluster } from '../postgres/cluster/installations.ts'
import { shareCluster } from '../postgres/shared-cluster.ts'

/**
 * Runs `work` as the operator of the installation that the environment describes, straight on its databases: the
 * admin API may be off and the service may be down. An embedded cluster that does not run is started for the while.
 */
export async function asOperator<T>(
  work: (accounts: AccountsContext, config: Config, adminUrl: string) => Promise<T>,
): Promise<T> {
  const config = readConfig()
  const log = createLog('error', process.stderr)
  if (!config.databaseUrl) await requireCluster(config.dataDir)
  const cluster = config.databaseUrl ? undefined : await shareCluster({ dataDir: config.dataDir, log })
  try {
    const adminUrl = cluster?.url ?? config.databaseUrl
    await requireInstallation(config, adminUrl, log)
    const { accounts } = await openAccounts(config, await loadOrCreateKeys(config, cluster?.url), log)
    try {
      return await work(accounts, config, adminUrl)
    } finally {
      await accounts.databases.close()
    }
  } finally {
    await cluster?.stop()
  }
}
