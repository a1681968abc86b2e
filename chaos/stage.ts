import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createUser } from '../src/accounts/create-user.ts'
import type { Account } from '../src/auth/account.ts'
import { readConfig } from '../src/config/config.ts'
import { addHost } from '../src/hosts/add-host.ts'
import type { Installation } from '../src/hosts/installation.ts'
import { openInstallation } from '../src/hosts/open-installation.ts'
import { createLog } from '../src/log/log.ts'
import { firstHostId } from '../src/postgres/hosts.ts'
import { type Engine, type EngineOptions, startEngine } from './engine.ts'
import { ledgerOwnedBy } from './ledger-tables.ts'
import { type Member, type ServerMember, startMember, startServer } from './members.ts'
import { type AdminSql, runSql } from './postgres/run-sql.ts'
import type { TenantHost } from './postgres/tenant-host.ts'
import { SentStatements } from './sent-statements.ts'
import { Told } from './told.ts'

export type StageOptions = EngineOptions &
  Readonly<{ users: number; servers: number; workers: number; jobsPerUser: number }>

export type ChaosUser = Readonly<{ account: Account; token: string }>

/** The set-up: databases, users with a ledger on every host, and processes, with proxies between all of them. */
export type Stage = Engine &
  Readonly<{
    users: readonly ChaosUser[]
    servers: readonly ServerMember[]
    workers: readonly Member[]
    sent: SentStatements
    told: Told
    /** The directory of imported files, which all processes share. */
    spool: string
    admin: AdminSql
    /** What the operator does with `cartage host add`. */
    tellAddress: (host: TenantHost) => Promise<void>
    close: () => Promise<void>
  }>

export async function setStage(options: StageOptions): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-chaos-'))
  await chmod(folder, 0o711)
  const spool = join(folder, 'imports')
  await mkdir(spool)
  // The processes of the service run without root.
  await chmod(spool, 0o777)
  const closers = [() => rm(folder, { recursive: true, force: true })]
  const close = () => closeAll(closers.toReversed())
  try {
    const sent = new SentStatements()
    const told = await Told.open()
    closers.push(told.close)
    const engine = await startEngine(options, folder, sent.note, closers)
    const { control } = engine
    const { jobsPerUser } = options
    const common = { namespace, secret, jobsPerUser, webhooks: told.host, spool }
    const installation = { ...common, control, listen: sent.note }
    const users = await makeUsers(engine, options.users)
    for (const { account } of users) {
      const { text, values } = told.webhookOf(account.userId)
      await runSql(control.url, namespace, text, values)
    }
    await engine.hosts?.second.addReplica()
    const servers = await startSome(options.servers, (index) =>
      // The first one has a worker inside, as by default.
      startServer(installation, index === 0 ? 'serve' : 'serve --no-worker'),
    )
    const workers = await startSome(options.workers, () => startMember(installation, 'worker'))
    closers.push(...[...servers, ...workers].map((member) => member.close))
    return {
      ...engine,
      users,
      servers,
      workers,
      sent,
      told,
      spool,
      admin: (text, values) => runSql(control.url, namespace, text, values),
      tellAddress: ({ name, url }) =>
        asOperator(control.url, async (installation) => void (await addHost(installation, name, url))),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const namespace = 'chaos'
const secret = 'a secret for chaos, the same everywhere'

function startSome<T>(count: number, start: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => start(index)))
}

/** A failing one does not stop the others. */
async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers) await close().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

/** The same number on each host. */
async function makeUsers({ control, hosts }: Engine, count: number): Promise<ChaosUser[]> {
  return asOperator(control.url, async (installation) => {
    if (hosts) await addHost(installation, hosts.second.name, hosts.second.url)
    const users: ChaosUser[] = []
    for (let number = 1; number <= count; number++) {
      const { account, masterToken: token } = await createUser(installation, { username: `chaos-${number}` })
      const url = account.hostId === firstHostId ? control.url : hosts!.second.primary.url
      await runSql(url, account.database, ledgerOwnedBy(account.masterRole))
      users.push({ account, token })
    }
    return users
  })
}

/** Like the command line: directly in the databases. */
async function asOperator<T>(adminUrl: string, work: (installation: Installation) => Promise<T>): Promise<T> {
  const config = { ...readConfig({}), namespace }
  const installation = await openInstallation(
    config,
    { adminUrl, secret, adminToken: '' },
    createLog('silent'),
  )
  try {
    return await work(installation)
  } finally {
    await installation.databases.close()
  }
}
