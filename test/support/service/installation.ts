import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { deleteOrganization } from '../../../src/accounts/delete-organization.ts'
import { deleteUser } from '../../../src/accounts/delete-user.ts'
import { listOrganizations } from '../../../src/accounts/organization-store.ts'
import { listAccounts } from '../../../src/accounts/user-store.ts'
import { type Config, readConfig } from '../../../src/config/config.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import type { InstallationSecrets } from '../../../src/hosts/secret/installation-secrets.ts'
import { createLog } from '../../../src/log/log.ts'
import { type RunningService, type ServiceParts, startService } from '../../../src/service/service.ts'
import { copyTemplate, dropNamespace, testKeys } from '../runner/namespace.ts'
import { sharedCluster } from './setup.ts'

export type Installation = Readonly<{
  config: Config
  keys: InstallationSecrets
  start: (changes?: StartChanges) => Promise<RunningService>
}>
export type StartChanges = Readonly<{
  config?: Partial<Config>
  keys?: Partial<InstallationSecrets>
  parts?: Partial<ServiceParts>
}>

/**
 * A control database of its own without any process: the test starts and stops them itself. At the end running ones are
 * stopped, and all accounts are deleted with the secret used last.
 */
export async function newInstallation(t: TestContext): Promise<Installation> {
  const { url, namespace } = await sharedCluster()
  const keys = testKeys(url)
  const config: Config = {
    ...readConfig({}),
    port: 0,
    namespace: `${namespace}_${randomBytes(3).toString('hex')}`,
    logLevel: 'error',
    connectionsPerHost: 12,
  }
  await copyTemplate(url, namespace, config.namespace)
  const running = new Set<RunningService>()
  let lastKeys = keys
  const start = async (changes: StartChanges = {}) => {
    lastKeys = { ...keys, ...changes.keys }
    const parts = { http: true, worker: false, ...changes.parts }
    const log = createLog(config.logLevel)
    const service = await startService({ ...config, ...changes.config }, lastKeys, parts, log)
    const stop = async () => {
      if (running.delete(service)) await service.stop()
    }
    running.add(service)
    return { ...service, stop }
  }
  t.after(async () => {
    for (const service of running) await service.stop()
    await removeUsers(config, lastKeys)
    await dropNamespace(keys.adminUrl, config.namespace)
  })
  return { config, keys, start }
}

async function removeUsers(config: Config, keys: InstallationSecrets): Promise<void> {
  const installation = await openInstallation(config, keys, createLog('error'))
  try {
    const { control } = installation.databases
    for (const { username, orgRole } of await listAccounts(control)) {
      if (orgRole !== 'owner') await deleteUser(installation, username)
    }
    for (const { name } of await listOrganizations(control)) await deleteOrganization(installation, name)
  } finally {
    await installation.databases.close()
  }
}
