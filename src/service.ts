import { openAccounts } from './accounts/open-accounts.ts'
import { repairAccounts } from './accounts/repair-accounts.ts'
import type { ServiceKeys } from './accounts/service-keys.ts'
import { Directory } from './auth/directory.ts'
import type { Config } from './config.ts'
import { buildServer } from './http/server.ts'
import type { Services } from './http/services.ts'
import type { Log } from './log.ts'

/** Which doors a process opens. */
export type ServiceParts = Readonly<{ http: boolean; worker: boolean }>

export type Service = Readonly<{
  /** Where it listens; empty without HTTP. */
  url: string
  isFirstStart: boolean
  services: Services
  stop: () => Promise<void>
}>

/** Brings a process up: databases, repair, then the doors that were asked for; and down again the same way. */
export async function startService(
  config: Config,
  keys: ServiceKeys,
  parts: ServiceParts,
  log: Log,
): Promise<Service> {
  const { accounts, isFirstStart } = await openAccounts(config, keys, log)
  const { databases, secrets } = accounts
  const directory = new Directory(databases.control, secrets, log)
  const readiness = { isReady: false }
  try {
    await repair(accounts)
    await directory.start()
    const services: Services = {
      config,
      log,
      databases,
      secrets,
      directory,
      accounts,
      adminToken: keys.adminToken,
      isReady: () => readiness.isReady,
    }
    const server = parts.http ? await buildServer(services) : undefined
    const url = server ? await server.listen({ host: config.host, port: config.port }) : ''
    readiness.isReady = true
    const stop = async () => {
      readiness.isReady = false
      await phase(log, 'requests', config.shutdownGraceMs, async () => server?.close())
      directory.stop()
      await phase(log, 'connections', 5_000, () => databases.close())
    }
    return { url, isFirstStart, services, stop }
  } catch (error) {
    directory.stop()
    await databases.close().catch(() => undefined)
    throw error
  }
}

/** What died half-way under an earlier process is finished or removed. */
async function repair(accounts: Services['accounts']): Promise<void> {
  const removed = await repairAccounts(accounts)
  if (removed.length > 0) accounts.log.warn({ removed }, 'removed half-made accounts')
}

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
