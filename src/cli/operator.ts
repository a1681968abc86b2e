import type { AccountsContext } from '../accounts/accounts-context.ts'
import { openAccounts } from '../accounts/open-accounts.ts'
import { loadOrCreateKeys } from '../accounts/service-keys.ts'
import { type Config, readConfig } from '../config.ts'
import { createLog, type Log } from '../log.ts'
import { runningClusterUrl } from '../postgres/cluster/running-url.ts'
import { startEmbeddedCluster } from '../postgres/embedded-cluster.ts'

/**
 * Runs `work` as the operator of the installation that the environment describes, straight on its databases: the
 * admin API may be off and the service may be down. An embedded cluster that does not run is started for the while.
 */
export async function asOperator<T>(
  work: (accounts: AccountsContext, config: Config) => Promise<T>,
): Promise<T> {
  const config = readConfig()
  const log = createLog('error', process.stderr)
  const cluster = await reachCluster(config, log)
  try {
    const { accounts } = await openAccounts(config, await loadOrCreateKeys(config, cluster.embeddedUrl), log)
    try {
      return await work(accounts, config)
    } finally {
      await accounts.databases.close()
    }
  } finally {
    await cluster.stop()
  }
}

type ReachedCluster = Readonly<{ embeddedUrl: string | undefined; stop: () => Promise<void> }>

async function reachCluster(config: Config, log: Log): Promise<ReachedCluster> {
  const nothingToStop = async () => undefined
  if (config.databaseUrl) return { embeddedUrl: undefined, stop: nothingToStop }
  const running = await runningClusterUrl(config.dataDir, log)
  if (running) return { embeddedUrl: running, stop: nothingToStop }
  const started = await startEmbeddedCluster({ dataDir: config.dataDir, log })
  return { embeddedUrl: started.url, stop: () => started.stop() }
}
