import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { CartageError } from '../../../src/client/cartage-error.ts'
import { createAdminClient, createClient } from '../../../src/client/client.ts'
import { addHost } from '../../../src/hosts/add-host.ts'
import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'
import type { RunningService } from '../../../src/service/service.ts'
import { runSql } from '../runner/namespace.ts'
import { type Installation, newInstallation } from '../service/installation.ts'
import { copyMade, madeNamespace } from '../service/made-installation.ts'

type HostCluster = Awaited<ReturnType<typeof startHost>>
type TwoHosts = Readonly<{
  service: RunningService
  installation: Installation
  cluster: HostCluster
  second: number
}>

export async function startWithTwoHosts(t: TestContext, { worker } = { worker: true }): Promise<TwoHosts> {
  const installation = await newInstallation(t)
  const cluster = await startHost(t, installation.config.namespace)
  const service = await installation.start({ parts: { worker } })
  const { id: second } = await addHost(service.services.installation, 'second', cluster.url)
  return { service, installation, cluster, second }
}

/**
 * With a namespace: a copy that has its template, as if it had been a host before. Only one per test, because copies
 * have the same identifier.
 */
export async function startHost(t: TestContext, namespace?: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-host-'))
  if (namespace) await copyMade(dataDir)
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
  const start = () => startEmbeddedCluster({ dataDir, log: createLog('error'), isOnTcp: true, settings })
  let cluster = await start()
  if (namespace) await becomeHost(cluster.url, namespace)
  t.after(async () => {
    await cluster.stop()
    for (const path of [dataDir, cluster.directory]) await rm(path, { recursive: true, force: true })
  })
  return {
    url: cluster.url,
    directory: cluster.directory,
    stop: () => cluster.stop(),
    restart: async () => {
      cluster = await start()
    },
  }
}

async function becomeHost(url: string, namespace: string): Promise<void> {
  await runSql({ connectionString: url }, `drop database ${madeNamespace}`)
  await runSql(
    { connectionString: url },
    `alter database ${madeNamespace}_template rename to "${namespace}_template"`,
  )
}

export const admin = (service: RunningService) =>
  createAdminClient({ baseUrl: service.url, token: 'test-admin-token-for-all-tests' })

export async function newUser(service: RunningService, username: string) {
  const operator = admin(service)
  const { api_key: token } = await operator.users.create({ username })
  operator.close()
  return createClient({ baseUrl: service.url, username, token })
}

export const isError = (status: number) => (error: unknown) =>
  error instanceof CartageError && error.status === status
