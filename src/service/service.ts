import { setTimeout as sleep } from 'node:timers/promises'
import { Moves } from '../accounts/moves/moves.ts'
import { repairAccounts } from '../accounts/repair-accounts.ts'
import { UserRestores } from '../accounts/restore/user-restores.ts'
import { activityChannel } from '../activity/activity-store.ts'
import { AnswerQuestions } from '../activity/answer-questions.ts'
import { AuditEndings } from '../audit/audit-endings.ts'
import { auditFile } from '../audit/audit-file.ts'
import { AuditRefusals } from '../audit/audit-refusals.ts'
import { AuditShipper } from '../audit/audit-shipper.ts'
import { auditSyslog } from '../audit/audit-syslog.ts'
import { AuditTables } from '../audit/audit-tables.ts'
import { AuditUses } from '../audit/audit-uses.ts'
import { Directory } from '../auth/directory.ts'
import { KnownTokens } from '../auth/known-tokens.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-variables.ts'
import { openCopies } from '../copy/copies.ts'
import { Dashboards } from '../dashboards/dashboards.ts'
import { keepHistory } from '../history/keep-history.ts'
import type { Installation } from '../hosts/installation.ts'
import { loadHosts, loadUnread } from '../hosts/load-hosts.ts'
import { connectInstallation } from '../hosts/open-installation.ts'
import { prepareHosts, prepareLater } from '../hosts/prepare-hosts.ts'
import { isWrongSecret } from '../hosts/secret/check-secret.ts'
import type { InstallationSecrets } from '../hosts/secret/installation-secrets.ts'
import { listen } from '../http/listen.ts'
import { WrongTokens } from '../http/middleware/credential/wrong-tokens.ts'
import { buildServer, buildWorkerServer } from '../http/server.ts'
import type { Services } from '../http/services.ts'
import { Imports } from '../imports/imports.ts'
import { JobFollowers } from '../jobs/follow/job-followers.ts'
import { JobQueue } from '../jobs/job-queue.ts'
import { JobWaiter } from '../jobs/job-waiter.ts'
import { queueStats } from '../jobs/queue-store.ts'
import { createPerUserMutex } from '../keys/per-user-mutex.ts'
import { repairKeys } from '../keys/repair-keys.ts'
import { keepTemporaryTables } from '../keys/temporary-tables.ts'
import type { Log } from '../log/log.ts'
import { Maps } from '../maps/maps.ts'
import { NamedMaps } from '../maps/named/named-maps.ts'
import { createMetrics, type Metrics } from '../metrics/metrics.ts'
import { connectionStats, type Databases } from '../postgres/databases.ts'
import { lookAtAutovacuum } from '../postgres/guard/autovacuum-look.ts'
import { HostGuard } from '../postgres/guard/host-guard.ts'
import { lookAtLocks } from '../postgres/guard/lock-look.ts'
import type { GuardLook } from '../postgres/guard/look.ts'
import { lookAtSettings } from '../postgres/guard/settings-look.ts'
import { hostPressures } from '../postgres/host-pressure.ts'
import { openQueries } from '../query/answer-query.ts'
import { SavedQueries } from '../saved-queries/saved-queries.ts'
import { Sessions } from '../sessions/sessions.ts'
import { loadGrammar } from '../sql/grammar.ts'
import { Tiles } from '../tiles/tiles.ts'
import { KeepUsage } from '../usage/keep-usage.ts'
import { Repeated } from '../waiting/repeated.ts'
import { unlessAborted } from '../waiting/unless-aborted.ts'
import { Webhooks } from '../webhooks/webhooks.ts'
import { startWorker } from '../worker/worker.ts'
import { StartedParts } from './started-parts.ts'

/** Which entry points a process opens. */
export type ServiceParts = Readonly<{ http: boolean; worker: boolean }>

export type RunningService = Readonly<{
  /** Where it listens; empty without HTTP. */
  url: string
  isFirstStart: boolean
  services: Services
  /** Fires if the secret was changed while this process was cut off: its reason is the error to end with. */
  lost: AbortSignal
  stop: () => Promise<void>
}>

/**
 * Starts a process, part by part. If one part fails, or the process is stopped, the started parts stop in reverse
 * order. The signal cancels a start: parts that have not started by then are left behind, because a database may not
 * answer.
 */
export async function startService(
  config: Config,
  keys: InstallationSecrets,
  parts: ServiceParts,
  log: Log,
  signal: AbortSignal = new AbortController().signal,
): Promise<RunningService> {
  const started = new StartedParts(log)
  // Other threads compile it while we query PostgreSQL. Errors surface at its use.
  loadGrammar().catch(() => undefined)
  try {
    return await unlessAborted(signal, startParts(config, keys, parts, log, started, signal))
  } catch (error) {
    await (signal.aborted ? Promise.race([started.stop(), sleep(givenUpMs)]) : started.stop())
    throw error
  }
}

/** Nothing has been served yet, so a short wait is enough. */
const givenUpMs = 300

async function startParts(
  config: Config,
  keys: InstallationSecrets,
  parts: ServiceParts,
  log: Log,
  started: StartedParts,
  signal: AbortSignal,
): Promise<RunningService> {
  const { installation, isFirstStart } = await connectInstallation(config, keys, log)
  started.push({ name: 'connections', limitMs: 5_000, stop: () => installation.databases.close() })
  signal.throwIfAborted()
  const lost = new AbortController()
  const directory = makeDirectory(installation, lost, started)
  const audit = startAudit(installation, config, started)
  startUsage(installation, started)
  startHistory(installation, config, started)
  const questions = new AnswerQuestions(installation.databases, log)
  directory.hear(activityChannel, (id) => void questions.answer(id))
  const readiness = { isReady: false }
  const shared = buildShared(config, installation, directory)
  const services: Services = {
    ...shared,
    sessions: new Sessions({ ...shared, directory }),
    namedMaps: new NamedMaps({ ...shared, directory }),
    directory,
    ...audit,
    adminToken: keys.adminToken,
    isReady: () => readiness.isReady,
  }
  // PostgreSQL prepares the hosts while this process builds the server.
  const [server, hostsLeft] = await Promise.all([
    buildHttp(services, parts),
    prepareHosts(installation),
    directory.start(),
  ])
  signal.throwIfAborted()
  const url = server ? await openHttp(server, services, parts, started) : ''
  signal.throwIfAborted()
  if (parts.worker) await openWorker(services, started)
  // Stopped with the connections.
  installation.databases.replicas.start()
  startGuard(services, started)
  startRepair(installation, hostsLeft, started)
  services.moves.start()
  started.push({ name: 'moves', limitMs: 10_000, stop: () => services.moves.stop() })
  services.restores.start()
  started.pushBeside({ name: 'restores', limitMs: 10_000, stop: () => services.restores.stop() })
  started.push({
    name: 'readiness',
    limitMs: 0,
    stop: () => {
      readiness.isReady = false
    },
  })
  readiness.isReady = true
  log.info({ url, ...parts }, 'ready')
  return { url, isFirstStart, services, lost: lost.signal, stop: () => started.stop() }
}

function startRepair(installation: Installation, hostsLeft: readonly number[], started: StartedParts): void {
  const stopping = new AbortController()
  started.push({ name: 'repair', limitMs: 0, stop: () => stopping.abort() })
  void keepRepairing(installation, stopping.signal)
  void prepareLater(installation, hostsLeft, stopping.signal)
  const reading = new Repeated(
    () => loadUnread(installation),
    readEveryMs,
    (error) => installation.log.warn({ err: error }, 'cannot read the addresses of the hosts again'),
  )
  reading.start()
  started.push({ name: 'addresses', limitMs: 0, stop: () => reading.stop() })
}

/** While the address of a host cannot be read here. */
const readEveryMs = 5_000

/** Started after the entry points, as the hosts are known only then. Stopped together with the work that it watches. */
function startGuard({ databases, metrics, log, config }: Services, started: StartedParts): void {
  const endings = new AuditEndings(databases.control, log)
  const looks: readonly GuardLook[] = [
    lookAtLocks(databases),
    lookAtSettings(databases),
    lookAtAutovacuum(databases, config.autovacuumTableMs),
  ]
  const guard = new HostGuard({
    hosts: databases.hosts,
    looks,
    log,
    onEnded: ({ name: look }, { name: host }, ended) => {
      metrics.guardEnded(look)
      endings.note(host, ended)
      log.warn({ look, host, ...ended }, 'the guard of a database host has ended a backend')
    },
  })
  metrics.watchGuard(() => guard.watched().length)
  guard.start()
  started.push({ name: 'audit of the guard', limitMs: 1_000, stop: () => endings.flush() })
  started.push({ name: 'guard', limitMs: 1_000, stop: () => guard.stop() })
}

function makeDirectory(installation: Installation, lost: AbortController, started: StartedParts): Directory {
  const { databases, secrets, log } = installation
  const directory = new Directory(databases.control, secrets, log, (client) =>
    loadHosts(installation, client).catch((error: unknown) => {
      if (isWrongSecret(error)) lost.abort(error)
      throw error
    }),
  )
  started.push({ name: 'directory', limitMs: 2_000, stop: () => directory.stop() })
  return directory
}

function startAudit(
  { databases, log }: Installation,
  config: Config,
  started: StartedParts,
): Pick<Services, 'refusals' | 'keyUses'> {
  const destinations = [
    ...(config.auditFile ? [auditFile(config.auditFile)] : []),
    ...(config.auditSyslog ? [auditSyslog(config.auditSyslog)] : []),
  ]
  for (const to of destinations) {
    const shipper = new AuditShipper(databases.control, to, log)
    started.push({ name: `audit to ${to.sink}`, limitMs: 2_000, stop: () => shipper.stop() })
    shipper.start()
  }
  const refusals = new AuditRefusals(databases.control, config.auditRetentionDays, log)
  const uses = new AuditUses(databases.control, log)
  started.push({ name: 'audit', limitMs: 2_000, stop: () => Promise.all([refusals.stop(), uses.stop()]) })
  refusals.start()
  uses.start()
  const tables = new AuditTables(databases, log)
  started.push({ name: 'audit of tables', limitMs: 2_000, stop: () => tables.stop() })
  tables.start()
  return { refusals, keyUses: uses }
}

/** Stopped after the work that it counts. */
function startUsage({ databases, log }: Installation, started: StartedParts): void {
  const usage = new KeepUsage(databases, log)
  started.push({ name: 'usage', limitMs: 2_000, stop: () => usage.stop() })
  usage.start()
}

function startHistory({ databases, log }: Installation, config: Config, started: StartedParts): void {
  const history = keepHistory(databases, config.historyDays, log)
  started.push({ name: 'history', limitMs: 0, stop: () => history.stop() })
  history.start()
}

/** What all requests share: built once per process. */
function buildShared(config: Config, installation: Installation, directory: Directory) {
  const { databases, secrets, log } = installation
  const metrics = watchedMetrics(databases)
  const knownTokens = new KnownTokens(databases.control, secrets)
  const copies = openCopies(config, databases)
  const tiles = new Tiles(config, databases)
  const queries = openQueries(config, databases, log)
  return {
    config,
    log,
    databases,
    secrets,
    installation,
    metrics,
    queries,
    savedQueries: new SavedQueries(queries),
    dashboards: new Dashboards(databases.control),
    copies,
    tiles,
    maps: new Maps({ config, databases, tiles, directory, secrets }),
    imports: new Imports(config, databases, copies.quotas, log),
    webhooks: new Webhooks(config, databases, secrets, log),
    jobQueue: new JobQueue(databases.control, config),
    jobWaiter: new JobWaiter(databases.control, log),
    jobFollowers: new JobFollowers(databases, config, log),
    keysMutex: createPerUserMutex(),
    moves: new Moves(installation),
    restores: new UserRestores(installation, config),
    wrongTokens: new WrongTokens(config.rateLimitWrongTokens, knownTokens, () =>
      metrics.rateLimited('wrong_tokens'),
    ),
  }
}

function watchedMetrics(databases: Databases): Metrics {
  const metrics = createMetrics()
  metrics.watchPools(() => connectionStats(databases))
  metrics.watchHosts(() => hostPressures(databases))
  metrics.watchQueue(() => queueStats(databases.control))
  return metrics
}

type HttpServer = Awaited<ReturnType<typeof buildServer>>

/** The whole API; for a process that only runs jobs, health and metrics. */
async function buildHttp(services: Services, { http }: ServiceParts): Promise<HttpServer | undefined> {
  if (http) return buildServer(services)
  return services.config.workerPort === 0 ? undefined : buildWorkerServer(services)
}

/** Returns the address. */
async function openHttp(
  server: HttpServer,
  services: Services,
  { http }: ServiceParts,
  started: StartedParts,
): Promise<string> {
  const { host, port, workerPort, shutdownDelayMs, shutdownGraceMs } = services.config
  const stop = async () => {
    // Load balancers must have seen that it is not ready before it closes.
    if (http) await sleep(shutdownDelayMs)
    // The server waits for open requests: those that wait for a job are answered now. It ends sessions itself.
    await Promise.all([services.jobWaiter.stop(), services.jobFollowers.stop(), server.close()])
  }
  started.push({ name: 'requests', limitMs: shutdownDelayMs + shutdownGraceMs, stop })
  const address = await listen(server, host, http ? port : workerPort).catch((error: unknown) => {
    throw listenError(error, host, http ? 'CARTAGE_PORT' : 'CARTAGE_WORKER_PORT')
  })
  return http ? address : ''
}

/** Maps a listen() error to the variable to fix. */
function listenError(error: unknown, host: string, portVariable: string): unknown {
  const { code, syscall, port } = error as NodeJS.ErrnoException & { port?: number }
  const configError = (sentence: string) => new ConfigError(sentence, { cause: error })
  if (code === 'EADDRINUSE')
    return configError(`port ${port} is in use by another program: set ${portVariable} to a free one`)
  if (code === 'EACCES') return configError(`port ${port} needs root: set ${portVariable} to one above 1023`)
  const isHostWrong = syscall === 'getaddrinfo' || code === 'EADDRNOTAVAIL' || code === 'EINVAL'
  return isHostWrong ? configError(`CARTAGE_HOST must be an address of this machine, not '${host}'`) : error
}

async function openWorker(services: Services, started: StartedParts): Promise<void> {
  const { config, jobQueue, jobWaiter, imports, webhooks } = services
  imports.start()
  started.push({ name: 'imports', limitMs: 0, stop: () => imports.stop() })
  webhooks.start()
  started.push({ name: 'webhooks', limitMs: 1_000, stop: () => webhooks.stop() })
  const worker = await startWorker(services)
  // Beside the requests: neither waits for the other to end.
  started.pushBeside({
    name: 'jobs',
    limitMs: config.shutdownGraceMs + 10_000,
    stop: () => worker.stop(config.shutdownGraceMs),
  })
  jobQueue.useLocalWorker(worker)
  jobWaiter.useLocalWorker(worker)
}

/** Finishes or removes what an earlier process left half-way. */
async function repair(installation: Installation): Promise<void> {
  const removed = [...(await repairAccounts(installation)), ...(await repairKeys(installation))]
  if (removed.length > 0) installation.log.warn({ removed }, 'removed half-made accounts and roles')
}

/** One run after the other, in the background, so that the service does not wait for a tenant's locks. */
async function keepRepairing(installation: Installation, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    await repair(installation).catch((error) =>
      installation.log.warn({ err: error }, 'repair failed: trying again later'),
    )
    await keepTemporaryTables(installation).catch((error) =>
      installation.log.warn({ err: error }, 'repair failed: trying again later'),
    )
    await sleep(repairEveryMs, undefined, { signal: stopped, ref: false }).catch(() => undefined)
  }
}

const repairEveryMs = 300_000
