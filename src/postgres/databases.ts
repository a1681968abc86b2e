import { limitOf } from '../config/account-limits.ts'
import type { Config } from '../config/config.ts'
import type { SetLimits } from '../contract/admin-names.ts'
import type { Log } from '../log/log.ts'
import type { Secrets } from '../secrets.ts'
import { ControlPool, controlConnections } from './control/control-pool.ts'
import { endBackend } from './end-backend.ts'
import { firstHostId, type Host, Hosts, hostFromUrl } from './hosts.ts'
import type { EndBackend, LookAtBackends } from './pools/forgotten-sessions.ts'
import { LingeringBackends } from './pools/lingering-backends.ts'
import { LoginRepair } from './pools/login-repair.ts'
import { PausedRoles } from './pools/paused-roles.ts'
import { RolePools } from './pools/role-pools.ts'
import { askServer } from './replicas/ask-server.ts'
import { Replicas } from './replicas/replicas.ts'
import { adminTarget, type SessionTarget } from './session-target.ts'
import { serverKeepAlive } from './wire/drop-when-silent.ts'
import { RecyclingSocket } from './wire/recycling-socket.ts'

/** All connections to databases. Each kind of work has its own, so that none starves another. */
export type Databases = Readonly<{
  /** The name of the control database, and of the service's own database on every other host. */
  namespace: string
  /** The control database: hosts, accounts, keys, jobs. */
  control: ControlPool
  hosts: Hosts
  /** The administrator, for any database of any host. */
  admin: RolePools
  /** Callers' statements on the SQL endpoint. */
  query: RolePools
  copy: RolePools
  job: RolePools
  /** Callers' sessions of many statements. */
  session: RolePools
  /** Vector tiles. */
  tile: RolePools
  /** Roles paused in the five pools above. */
  paused: PausedRoles
  /** Which replicas of the hosts may answer now. */
  replicas: Replicas
  /**
   * A view in which a host is added or changed, with pools of its own: nothing else in this process uses the host. Only
   * the connections to the control database are shared. The caller closes the view.
   */
  withHost: (host: Host) => Databases
  close: () => Promise<void>
}>

export function openDatabases(config: Config, adminUrl: string, secrets: Secrets, log: Log): Databases {
  const hosts = new Hosts()
  hosts.register(hostFromUrl(firstHostId, 'local', adminUrl))
  const control = new ControlPool(config, hosts.get(firstHostId), log)
  const databases = openPools({ config, secrets, log, control }, hosts)
  const close = async () => {
    await databases.close()
    await control.end()
  }
  return { ...databases, close }
}

type PoolNeeds = Readonly<{ config: Config; secrets: Secrets; log: Log; control: ControlPool }>

/** All but the connections to the control database. */
function openPools(common: PoolNeeds, hosts: Hosts): Databases {
  const { config, secrets, log, control } = common
  const admin = openAdmin(config, hosts, log)
  const paused = new PausedRoles()
  const pools = openTenantPools(config, hosts, admin, secrets, paused, log)
  const replicas = new Replicas(hosts, askServer(admin, hosts), config.replicaMaxLagMs, log)
  const withHost = (host: Host) => openPools(common, hosts.with(host))
  const close = async () => {
    replicas.stop()
    await Promise.all([...Object.values(pools), admin].map((each) => each.close()))
  }
  return { namespace: config.namespace, control, hosts, admin, ...pools, paused, replicas, withHost, close }
}

function openAdmin(config: Config, hosts: Hosts, log: Log): RolePools {
  return new RolePools({
    ...commonOptions(config, hosts, log),
    name: 'admin',
    passwordOf: ({ hostId }) => hosts.get(hostId).adminPassword,
    maxPerHost: adminConnectionsPerHost,
    maxPerRole: 4,
    idleMs: Math.min(config.connectionIdleMs, 5_000),
    answerMs: 65_000,
    // A tenant may hold a lock that an administrative statement needs. Statements that may wait longer set their own
    // limit.
    settings: {
      statement_timeout: 60_000,
      lock_timeout: 5_000,
      ...serverKeepAlive(unreadMs),
    },
    superuserSettings: { temp_file_limit: -1 },
  })
}

function openTenantPools(
  config: Config,
  hosts: Hosts,
  admin: RolePools,
  secrets: Secrets,
  paused: PausedRoles,
  log: Log,
): Pick<Databases, 'query' | 'copy' | 'job' | 'session' | 'tile'> {
  const common = {
    ...commonOptions(config, hosts, log),
    passwordOf: ({ role }: SessionTarget) => secrets.rolePassword(role),
    paused,
    lingering: new LingeringBackends(lookAtBackends(admin, hosts)),
    backends: { look: lookAtBackends(admin, hosts), end: endBackendOn(admin, hosts) },
    check: new LoginRepair({ admin, hosts, secrets, tempFileMaxBytes: config.tempFileMaxBytes }),
  }
  const reads = Buffer.allocUnsafeSlow(readBytes)
  const query = new RolePools({ ...common, ...queryOptions(config, reads) })
  const copy = new RolePools({
    ...common,
    name: 'copy',
    openSocket: () => new RecyclingSocket(),
    maxPerHost: config.copiesPerProcess,
    maxPerRole: config.copiesPerUser,
    own: (limits) => ({ statementTimeoutMs: limits.copy_timeout_ms }),
    settings: { statement_timeout: config.copyTimeoutMs, ...serverKeepAlive(config.copyIdleMs + unreadMs) },
  })
  const job = new RolePools({
    ...common,
    name: 'job',
    maxPerHost: jobConnections(config),
    maxPerRole: jobsAndImports(config, {}),
    own: (limits) => ({ most: ownsJobs(limits) ? jobsAndImports(config, limits) : undefined }),
    settings: { statement_timeout: config.jobTimeoutMs, ...serverKeepAlive(unreadMs) },
  })
  // Its connections are never reused. A backend ends by itself too, should this process fail to end it.
  const session = new RolePools({
    ...common,
    name: 'session',
    openSocket: () => new RecyclingSocket(reads),
    maxPerHost: config.sessionConnectionsPerHost,
    maxPerRole: config.sessionsPerKey,
    maxPerAccount: config.sessionsPerAccount,
    own: (limits) => ({ statementTimeoutMs: statementTimeout(config, limits) }),
    settings: {
      ...statementSettings(config),
      idle_in_transaction_session_timeout: Math.min(2 * config.sessionTransactionIdleMs, 2 ** 31 - 1),
    },
  })
  return { query, copy, job, session, tile: new RolePools({ ...common, ...tileOptions(config, reads) }) }
}

function queryOptions(config: Config, reads: Buffer) {
  return {
    name: 'sql',
    openSocket: () => new RecyclingSocket(reads),
    maxPerRole: config.connectionsPerRole,
    maxPerAccount: config.connectionsPerAccount,
    maxAnonymousPerAccount: config.anonymousConnections,
    accountLimit: 'connections' as const,
    own: (limits: SetLimits) => ({
      most: limits.connections,
      statementTimeoutMs: statementTimeout(config, limits),
    }),
    settings: statementSettings(config),
  }
}

/** For as many queries as there may be at once, and a few look-ups beside them. */
function tileOptions(config: Config, reads: Buffer) {
  const perAccount = config.tilesPerAccount + tileLookUps
  return {
    name: 'tile',
    openSocket: () => new RecyclingSocket(reads),
    maxPerHost: tileConnections(config),
    maxPerRole: perAccount,
    maxPerAccount: perAccount,
    maxAnonymousPerAccount: perAccount,
    accountLimit: 'tiles_at_once' as const,
    own: ({ tiles_at_once: own }: SetLimits) => ({ most: own && own + tileLookUps }),
    answerMs: config.tileTimeoutMs + unreadMs,
    settings: {
      statement_timeout: config.tileTimeoutMs,
      // Slower for the few rows of most tiles.
      max_parallel_workers_per_gather: 0,
      jit: 'off',
      ...serverKeepAlive(unreadMs),
    },
  }
}

/** The time of the client counts here too, so this is only the limit of the whole statement. */
const statementSettings = (config: Config) => ({
  statement_timeout: statementTimeout(config, {}),
  ...serverKeepAlive(config.copyIdleMs + unreadMs),
})

const statementTimeout = (config: Config, limits: SetLimits) =>
  Math.max(
    limitOf(config, limits, 'query_timeout_ms').value,
    limitOf(config, limits, 'copy_timeout_ms').value,
  )

const ownsJobs = ({ jobs_at_once, imports_at_once }: SetLimits) =>
  jobs_at_once !== undefined || imports_at_once !== undefined

/** Running ones, and more whose backends have not ended. */
const jobsAndImports = (config: Config, limits: SetLimits) =>
  4 * limitOf(config, limits, 'jobs_at_once').value + limitOf(config, limits, 'imports_at_once').value

/** The pools of callers: everything that a tenant's role does here. */
export const tenantPools = ({ query, copy, job, session, tile }: Databases) => [
  query,
  copy,
  job,
  session,
  tile,
]

function commonOptions(config: Config, hosts: Hosts, log: Log) {
  return {
    hosts,
    log,
    maxPerHost: config.connectionsPerHost,
    idleMs: config.connectionIdleMs,
    waitMs: config.connectionWaitMs,
    answerMs: 10_000,
  }
}

function lookAtBackends(admin: RolePools, hosts: Hosts): LookAtBackends {
  return (hostId, processIds) =>
    admin.use(adminTarget(hosts, hostId), async (session) => {
      const { rows } = await session.query<Awaited<ReturnType<LookAtBackends>>[number]>(
        `select pid, usename as role, backend_start::text as start,
           state <> 'active' or coalesce(wait_event in ('ClientRead', 'ClientWrite'), false) as is_waiting
         from pg_catalog.pg_stat_activity where pid = any ($1)`,
        [processIds],
      )
      return rows
    })
}

function endBackendOn(admin: RolePools, hosts: Hosts): EndBackend {
  return (hostId, pid, backendStart) =>
    admin.use(adminTarget(hosts, hostId), (session) => endBackend(session, { pid, backendStart }, 0))
}

/** State of every pool of this process. (pg.Pool does not count the connections it closes.) */
export function connectionStats(databases: Databases) {
  const { totalCount, idleCount, waitingCount } = databases.control
  return [
    { name: 'control', open: totalCount, idle: idleCount, waiting: waitingCount, destroyed: 0 },
    ...[databases.admin, ...tenantPools(databases)].map((pools) => pools.stats()),
  ]
}

/** The maximum number of connections from one process to one host. */
export function connectionBudget(config: Config, hostId: number, isControlOnly = false): number {
  if (isControlOnly) return adminConnectionsPerHost + controlConnections
  return (
    tenantConnections(config) +
    adminConnectionsPerHost +
    guardConnections +
    (hostId === firstHostId ? controlConnections : 0)
  )
}

export function tenantConnections(config: Config): number {
  const { connectionsPerHost, copiesPerProcess, sessionConnectionsPerHost } = config
  const requests = connectionsPerHost + copiesPerProcess + sessionConnectionsPerHost
  return requests + jobConnections(config) + tileConnections(config)
}

const tileConnections = ({ tilesPerHost }: Pick<Config, 'tilesPerHost'>) => tilesPerHost + tileLookUps

/** A worker that takes over a dead worker's jobs may have twice its share. */
export function jobConnections({ jobConnectionsPerHost, jobsPerWorker, importsPerWorker }: Config): number {
  return Math.max(jobConnectionsPerHost, 2 * jobsPerWorker, jobsPerWorker + importsPerWorker)
}

const adminConnectionsPerHost = 8

/** Look-ups take a millisecond, so few connections are enough. */
const tileLookUps = 4

/** The connection that is always open. */
const guardConnections = 1

/** Buffer size for reading answers: as much as the system returns at once. */
const readBytes = 256 * 1024

/** How long an answer may stay unread. Short, as we read at once; only the client of a query or copy may be slow. */
const unreadMs = 15_000
