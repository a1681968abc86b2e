import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createUser } from '../src/accounts/create-user.ts'
import { openAccounts } from '../src/accounts/open-accounts.ts'
import type { Account } from '../src/auth/account.ts'
import { readConfig } from '../src/config.ts'
import { createLog } from '../src/log.ts'
import { type EmbeddedCluster, startEmbeddedCluster } from '../src/postgres/embedded-cluster.ts'
import { CartageProcess, type Role } from './process.ts'

export type StageOptions = Readonly<{ users: number; servers: number; workers: number }>

export type ChaosUser = Readonly<{ account: Account; token: string }>

/** Where it happens: a cluster that is started again when it dies, users with a ledger, and processes. */
export type Stage = Readonly<{
  cluster: EmbeddedCluster
  namespace: string
  users: readonly ChaosUser[]
  urls: readonly string[]
  servers: readonly CartageProcess[]
  workers: readonly CartageProcess[]
  /** The administrator, in the control database unless told. Fails while the cluster is down. */
  admin: (text: string, values?: unknown[], database?: string) => Promise<pg.QueryResult>
  close: () => Promise<void>
}>

export async function setStage(options: StageOptions): Promise<Stage> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-chaos-'))
  await chmod(dataDir, 0o711)
  const cluster = await startEmbeddedCluster({ dataDir, log: createLog('error'), isEphemeral: true })
  const namespace = 'chaos'
  const users = await makeUsers(cluster.url, namespace, options.users)
  const ports = await Promise.all(Array.from({ length: options.servers }, freePort))
  const built = await isBuilt()
  const start = (role: Role, port = 0) =>
    new CartageProcess(role, environment(cluster.url, namespace, port), built)
  // The first one has a worker inside, as by default.
  const servers = ports.map((port, index) => start(index === 0 ? 'serve' : 'serve --no-worker', port))
  const workers = Array.from({ length: options.workers }, () => start('worker'))
  return {
    cluster,
    namespace,
    users,
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    servers,
    workers,
    admin: (text, values, database = namespace) => runSql(cluster.url, database, text, values),
    close: async () => {
      await Promise.all([...servers, ...workers].map((each) => each.end('SIGKILL')))
      await cluster.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

const secret = 'a secret for chaos, the same everywhere'

async function makeUsers(adminUrl: string, namespace: string, count: number): Promise<ChaosUser[]> {
  const config = { ...readConfig({}), namespace }
  const keys = { adminUrl, secret, adminToken: '' }
  const { accounts } = await openAccounts(config, keys, createLog('error'))
  try {
    const users: ChaosUser[] = []
    for (let number = 1; number <= count; number++) {
      const { account, masterToken: token } = await createUser(accounts, { username: `chaos-${number}` })
      await runSql(adminUrl, account.database, ledger(account.masterRole))
      users.push({ account, token })
    }
    return users
  } finally {
    await accounts.databases.close()
  }
}

/** Takes every entry, also one that comes twice. In the second table a commit takes its time. */
function ledger(role: string): string {
  return `
    create table public.ledger (entry text not null, at timestamptz not null default clock_timestamp());
    create table public.slow_ledger (like public.ledger including all);
    create function public.dawdle() returns trigger language plpgsql as
      'begin perform pg_catalog.pg_sleep(0.03); return null; end';
    create constraint trigger dawdle after insert on public.slow_ledger
      deferrable initially deferred for each row execute function public.dawdle();
    alter table public.ledger owner to "${role}";
    alter table public.slow_ledger owner to "${role}"`
}

function environment(adminUrl: string, namespace: string, port: number): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CARTAGE_DATABASE_URL: adminUrl,
    CARTAGE_SECRET: secret,
    CARTAGE_NAMESPACE: namespace,
    CARTAGE_PORT: String(port),
    CARTAGE_LOG_LEVEL: process.env.CHAOS_LOG_LEVEL ?? 'silent',
    CARTAGE_JOB_QUEUE_LIMIT: '100000',
    CARTAGE_SHUTDOWN_GRACE_MS: '200',
  }
}

/** Whether dist/ was made from the sources as they are now. */
async function isBuilt(): Promise<boolean> {
  const build = (await import('../scripts/build.mjs' as string)) as { isBuilt: () => boolean }
  return build.isBuilt()
}

async function freePort(): Promise<number> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}

async function runSql(
  adminUrl: string,
  database: string,
  text: string,
  values?: unknown[],
): Promise<pg.QueryResult> {
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  const client = new pg.Client({
    connectionString: url.href,
    connectionTimeoutMillis: 5_000,
    application_name: 'chaos',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await client.query(text, values)
  } finally {
    await client.end().catch(() => undefined)
  }
}
