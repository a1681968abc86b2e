import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { createOrganization } from '../../../src/accounts/create-organization.ts'
import { createUser, type WantedUser } from '../../../src/accounts/create-user.ts'
import { deleteOrganization } from '../../../src/accounts/delete-organization.ts'
import { deleteUser } from '../../../src/accounts/delete-user.ts'
import type { Account } from '../../../src/auth/account.ts'
import { type Config, readConfig } from '../../../src/config/config.ts'
import { AppError } from '../../../src/errors.ts'
import type { InstallationSecrets } from '../../../src/hosts/secret/installation-secrets.ts'
import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'
import { type RunningService, startService } from '../../../src/service/service.ts'
import { watchJobInvariants } from '../jobs/job-invariants.ts'
import {
  copyTemplate,
  dropNamespace,
  isLook,
  look,
  runSql,
  testKeys,
  withDatabase,
} from '../runner/namespace.ts'

export type SetupOptions = Readonly<{
  /** Overrides the defaults of the configuration. */
  config?: Partial<Config>
  /** With a worker, and so in its own namespace: no other test's worker sees these jobs. */
  worker?: boolean
  /** With its own control database. */
  isIsolated?: boolean
  /** A service that no other test has used: for figures counted from its start. */
  isFresh?: boolean
}>

export type TestUser = Readonly<{
  account: Account
  username: string
  masterToken: string
  /** `http://.../user/<username>` */
  base: string
  /** Runs SQL in the user's database as a role, the master role by default, directly in PostgreSQL. */
  sql: (text: string, values?: unknown[], role?: string) => Promise<pg.QueryResult>
}>

export type Setup = Readonly<{
  url: string
  service: RunningService
  keys: InstallationSecrets
  /** Runs SQL as the administrator in any database of the cluster. */
  admin: (text: string, values?: unknown[], database?: string) => Promise<pg.QueryResult>
  user: TestUser
  createUser: (request?: Partial<WantedUser>) => Promise<TestUser>
  /** An organization with its owner; create members with createUser({ organization }). */
  createOrganization: () => Promise<{ name: string; owner: TestUser }>
}>

/** A running service with one new user. Tests of a file with the same options share the service, never the user. */
export async function setup(t: TestContext, options: SetupOptions = {}): Promise<Setup> {
  const { service, keys } = await sharedService(options)
  const { installation } = service.services
  const undo: (() => Promise<void>)[] = []
  t.after(() => undoAll(undo))
  const newUser = async (request: Partial<WantedUser> = {}) => {
    const { account, masterToken } = await createUser(installation, {
      username: randomName('user'),
      ...request,
    })
    undo.push(() => deleteUser(installation, account.username))
    return testUser(service, account, masterToken)
  }
  const newOrganization = async () => {
    const name = randomName('org')
    const { owner } = await createOrganization(installation, {
      name,
      owner: { username: randomName('owner') },
    })
    undo.push(() => deleteOrganization(installation, name))
    return { name, owner: testUser(service, owner.account, owner.masterToken) }
  }
  return {
    url: service.url,
    service,
    keys,
    admin: (text, values, database) => {
      const connectionString = withDatabase(keys.adminUrl, database)
      // A kept session is only for the control database: tenant databases are dropped and copied, and their sessions
      // counted.
      const isOurs = database === undefined || database === service.services.config.namespace
      if (isOurs && isLook(text)) return look(connectionString, text, values)
      return runSql({ connectionString }, text, values)
    },
    user: await newUser(),
    createUser: newUser,
    createOrganization: newOrganization,
  }
}

/** In reverse, because members must go before their organization. */
async function undoAll(undo: (() => Promise<void>)[]): Promise<void> {
  await runAll(
    undo.reverse().map((step) => async () => {
      await step().catch((error: unknown) => {
        // The test itself may have deleted it.
        if (!(error instanceof AppError && error.kind === 'not-found')) throw error
      })
    }),
  )
}

/** One after another, also after a failure: otherwise databases of the rest would be left behind. */
async function runAll(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) await step().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

export const randomName = (prefix: string) => `${prefix}-${randomBytes(5).toString('hex')}`

/**
 * Repeats `check` until it passes, less often the longer it takes; fails with its last error at the end of the time.
 */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 15_000): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.2, 100)) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await sleep(pauseMs)
    }
  }
}

export const basic = (username: string, token: string) => ({
  authorization: `Basic ${Buffer.from(`${username}:${token}`).toString('base64')}`,
})

function testUser(service: RunningService, account: Account, masterToken: string): TestUser {
  const { databases, secrets } = service.services
  return {
    account,
    username: account.username,
    masterToken,
    base: `${service.url}/user/${account.username}`,
    sql: (text, values, role = account.masterRole) =>
      runSql(
        {
          ...databases.hosts.get(account.hostId).addresses[0],
          database: account.database,
          user: role,
          password: secrets.rolePassword(role),
          options: `-c search_path=${account.schema === 'public' ? 'public,cartodb,postgis' : `"${account.schema}",cartodb,public,postgis`}`,
        },
        text,
        values,
      ),
  }
}

export type TestCluster = Readonly<{ url: string; namespace: string }>

/** The cluster of the tests, and the namespace that they share there. */
export function sharedCluster(): Promise<TestCluster> {
  cluster ??= testCluster()
  return cluster
}

/** test/run.ts gives the cluster and the namespace; a file run alone starts its own cluster. */
async function testCluster(): Promise<TestCluster> {
  const url = process.env.CARTAGE_TEST_DATABASE_URL
  const namespace = process.env.CARTAGE_TEST_NAMESPACE
  if (url && namespace) return { url, namespace }
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-test-'))
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
  const cluster = await startEmbeddedCluster({
    dataDir,
    log: createLog('warn'),
    isEphemeral: true,
    isOnTcp: true,
    settings,
  })
  cleanups.push(async () => {
    await cluster.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  return { url: cluster.url, namespace: 'ct_alone' }
}

const cleanups: (() => Promise<void>)[] = []
const running = new Map<string, Promise<{ service: RunningService; keys: InstallationSecrets }>>()
let cluster: Promise<TestCluster> | undefined

after(() => runAll(cleanups.reverse()))

function sharedService(options: SetupOptions) {
  const key = JSON.stringify(options)
  const known = (options.isFresh ? undefined : running.get(key)) ?? launch(options)
  running.set(key, known)
  return known
}

let folder: Promise<string> | undefined

/** The folder of this process's services, not that of the project. */
function importFolder(): Promise<string> {
  folder ??= mkdtemp(join(tmpdir(), 'cartage-imports-')).then((path) => {
    cleanups.unshift(() => rm(path, { recursive: true, force: true }))
    return path
  })
  return folder
}

async function launch(
  options: SetupOptions,
): Promise<{ service: RunningService; keys: InstallationSecrets }> {
  const { url, namespace: shared } = await sharedCluster()
  const isIsolated = options.isIsolated || options.worker
  const namespace = isIsolated ? `${shared}_${randomBytes(3).toString('hex')}` : shared
  const config: Config = {
    ...readConfig({}),
    port: 0,
    namespace,
    logLevel: 'error',
    requestTimeoutMs: 10_000,
    connectionsPerHost: 12,
    importDir: await importFolder(),
    ...options.config,
  }
  const keys = testKeys(url)
  // Registered first, because the service may fail to start.
  if (isIsolated) cleanups.push(() => dropNamespace(url, namespace))
  if (isIsolated) await copyTemplate(url, shared, namespace)
  const service = await startService(
    config,
    keys,
    { http: true, worker: options.worker ?? false },
    createLog(config.logLevel),
  )
  cleanups.push(() => service.stop())
  // Not on a connection of the service, whose time limit is too short to wait for the tests of other files.
  const connectionString = withDatabase(url, namespace)
  await watchJobInvariants({ query: (text) => runSql({ connectionString }, text) })
  return { service, keys }
}
