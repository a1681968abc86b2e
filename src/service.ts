import { setTimeout as sleep } from 'node:timers/promises'
import { AuditRefusals } from './accounts/audit-refusals.ts'
import { isWrongSecret } from './accounts/check-secret.ts'
import { loadHosts } from './accounts/host-store.ts'
import { openAccounts } from './accounts/open-accounts.ts'
import { prepareLater } from './accounts/prepare-hosts.ts'
import { repairAccounts } from './accounts/repair-accounts.ts'
import type { ServiceKeys } from './accounts/service-keys.ts'
import { Directory } from './auth/directory.ts'
import type { Config } from './config.ts'
import { openCopies } from './copy/copies.ts'
import { buildServer, buildWorkerServer } from './http/server.ts'
import type { Services } from './http/services.ts'
import { JobQueue } from './jobs/job-queue.ts'
import { queueStats } from './jobs/queue-store.ts'
import { repairKeys } from './keys/repair-keys.ts'
import type { Log } from './log.ts'
import { createMetrics } from './metrics.ts'
import { connectionStats } from './postgres/databases.ts'
import { startWorker } from './worker/worker.ts'

/** Which doors a process opens. */
export type ServiceParts = Readonly<{ http: boolean; worker: boolean }>

export type Service = Readonly<{
  /** Where it listens; empty without HTTP. */
  url: string
  isFirstStart: boolean
  services: Services
  /** The secret was changed while this process was cut off: its reason is the error to end with. */
  lost: AbortSignal
  stop: () => Promise<void>
}>

/** Brings a process up: databases, then the doors that were asked for; and down again the same way. */
export async function startService(
  config: Config,
  keys: ServiceKeys,
  parts: ServiceParts,
  log: Log,
): Promise<Service> {
  const { accounts, isFirstStart, hostsLeft } = await openAccounts(config, keys, log)
  const { databases, secrets } = accounts
  const lost = new AbortController()
  const directory = new Directory(databases.control, secrets, log, (client) =>
    loadHosts(accounts, client).catch((error: unknown) => {
      if (isWrongSecret(error)) lost.abort(error)
      throw error
    }),
  )
  const metrics = createMetrics()
  metrics.watchPools(() => connectionStats(databases))
  metrics.watchQueue(() => queueStats(databases.control))
  const refusals = new AuditRefusals(databases.control, config.auditRetentionDays, log)
  const readiness = { isReady: false }
  const stopping = new AbortController()
  try {
    void keepRepairing(accounts, stopping.signal)
    prepareLater(accounts, hostsLeft, stopping.signal)
    await directory.start()
    refusals.start()
    const services: Services = {
      config,
      log,
      databases,
      secrets,
      directory,
      accounts,
      metrics,
      copies: openCopies(config, databases),
      jobQueue: new JobQueue(databases.control, config),
      refusals,
      adminToken: keys.adminToken,
      isReady: () => readiness.isReady,
    }
    const door = await openDoor(services, parts)
    const worker = parts.worker ? await startWorker({ config, log, databases, metrics }) : undefined
    if (worker) services.jobQueue.tellFirst(worker)
    readiness.isReady = true
    log.info({ url: door.url, ...parts }, 'ready')
    const stop = async () => {
      readiness.isReady = false
      stopping.abort()
      await Promise.all([
        phase(log, 'requests', config.shutdownDelayMs + config.shutdownGraceMs, async () => door.close()),
        phase(log, 'jobs', config.shutdownGraceMs + 10_000, async () => worker?.stop(config.shutdownGraceMs)),
      ])
      await phase(log, 'audit', 2_000, () => refusals.stop())
      directory.stop()
      await phase(log, 'connections', 5_000, () => databases.close())
    }
    return { url: door.url, isFirstStart, services, lost: lost.signal, stop }
  } catch (error) {
    stopping.abort()
    directory.stop()
    await databases.close().catch(() => undefined)
    throw error
  }
}

type Door = Readonly<{ url: string; close: () => Promise<void> }>

/** The whole API; or, where only jobs are run, what tells an operator how that goes. */
async function openDoor(services: Services, { http }: ServiceParts): Promise<Door> {
  const { host, port, workerPort, shutdownDelayMs } = services.config
  if (!http && workerPort === 0) return { url: '', close: async () => undefined }
  const server = http ? await buildServer(services) : await buildWorkerServer(services)
  const address = await server.listen({ host, port: http ? port : workerPort })
  const close = async () => {
    // Load balancers must have seen that it is not ready before it closes.
    if (http) await sleep(shutdownDelayMs)
    await server.close()
  }
  return { url: http ? address : '', close }
}

/** What died half-way under an earlier process is finished or removed. */
async function repair(accounts: Services['accounts']): Promise<void> {
  const removed = [...(await repairAccounts(accounts)), ...(await repairKeys(accounts))]
  if (removed.length > 0) accounts.log.warn({ removed }, 'removed half-made accounts and roles')
}

/** One run after the other, in the background: nobody waits for what a tenant holds. */
async function keepRepairing(accounts: Services['accounts'], stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    await repair(accounts).catch((error) => accounts.log.warn({ err: error }, 'cannot repair'))
    await sleep(repairEveryMs, undefined, { signal: stopped, ref: false }).catch(() => undefined)
  }
}

const repairEveryMs = 300_000

/** One step of the way down, with a limit: a stuck step is told and left behind. */
async function phase(log: Log, name: string, limitMs: number, work: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), limitMs)
  })
  const done = work().catch((error: unknown) => log.error({ err: error, phase: name }, 'stopping failed'))
  if ((await Promise.race([done, late])) === 'late')
    log.warn({ phase: name, limitMs }, 'stopping took too long')
  clearTimeout(timer)
}
