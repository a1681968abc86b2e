import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { ProcessSampler } from './frame/process-use.ts'
import { pgbench } from './query/pgbench.ts'
import { type LoadResult, rawLoad } from './query/raw-load.ts'

const connections = 8
const seconds = 3

const statements = {
  one: { title: 'SELECT 1', sql: 'select 1', pgbenchAim: '0.083 (1/12) or more', bareAim: '0.7 or more' },
  rows: {
    title: '10,000 rows of 5 columns',
    sql: 'select * from rows10k',
    pgbenchAim: '0.33 (1/3) or more',
    bareAim: '2 or more',
  },
} as const

type Statement = (typeof statements)[keyof typeof statements]

export const entries: readonly Entry[] = [
  ...Object.entries(statements).flatMap(([name, statement]): Entry[] => [
    {
      name: `query-${name}-pgbench`,
      title: `${statement.title} through the SQL endpoint, one process`,
      baseline: 'pgbench with the same statement',
      unit: '1/s',
      aim: statement.pgbenchAim,
      pairs: 7,
      prepare: inFrame(async (frame) => {
        const { account, load, notes } = await prepareService(frame, statement)
        const bench = await pgbench(frame, statement.sql, account.database, connections)
        return { baseline: () => bench(seconds), ours: load, notes }
      }),
    },
    {
      name: `query-${name}-bare`,
      title: `${statement.title} through the SQL endpoint, one process`,
      baseline: 'node:http and a pool of pg, without authentication or cleaning',
      unit: '1/s',
      aim: statement.bareAim,
      pairs: 7,
      prepare: inFrame(async (frame) => {
        const { account, load, notes } = await prepareService(frame, statement)
        const bare = await startBareServer(frame, account.database)
        const url = `${bare}/?q=${encodeURIComponent(statement.sql)}`
        return {
          baseline: async () => (await rawLoad([url], connections, seconds * 1000)).rate,
          ours: load,
          notes,
        }
      }),
    },
  ]),
  {
    name: 'query-two-processes',
    title: 'SELECT 1 through two processes of the service',
    baseline: 'the same through one',
    unit: '1/s',
    aim: 'as much more as the machine has cores for',
    pairs: 7,
    prepare: inFrame(async (frame) => {
      const { account, service } = await prepareService(frame, statements.one)
      const second = await frame.startService({ CARTAGE_NAMESPACE: service.namespace })
      const [one, two] = [service, second].map(({ url }) => urlOf(url, account, statements.one))
      const rate = async (urls: string[]) => (await rawLoad(urls, connections, seconds * 1000)).rate
      return { baseline: () => rate([one!]), ours: () => rate([one!, two!]) }
    }),
  },
]

type BenchAccount = Readonly<{ token: string; database: string }>

async function prepareService(frame: Frame, statement: Statement) {
  const service = await frame.startService()
  const { api_key: token } = (await service.admin('POST', '/users', { username: 'someone' })) as {
    api_key: string
  }
  const account: BenchAccount = { token, database: await databaseOf(frame, service.namespace) }
  const client = await frame.connect(account.database)
  await client.query(tenThousandRows)
  const url = urlOf(service.url, account, statement)
  const results: (LoadResult & { peakRssMb: number })[] = []
  const load = async () => {
    const sampler = new ProcessSampler(service.pid)
    const result = await rawLoad([url], connections, seconds * 1000)
    results.push({ ...result, peakRssMb: sampler.stop().peakRssMb })
    return result.rate
  }
  const notes = () => {
    const { p50Ms, p99Ms, peakRssMb } = results.at(-1)!
    return `${connections} connections: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${peakRssMb.toFixed(0)} MB`
  }
  return { service, account, load, notes }
}

const tenThousandRows = `
  create table rows10k as
    select n as id, 'name of ' || n as name, n * 1.37::float8 as value, now() + n * interval '1 second' as at, n % 2 = 0 as flag
    from generate_series(1, 10000) n;
  grant select on rows10k to public;
  analyze rows10k`

function urlOf(base: string, { token }: BenchAccount, { sql }: Statement): string {
  return `${base}/user/someone/api/v2/sql?q=${encodeURIComponent(sql)}&api_key=${token}`
}

async function databaseOf(frame: Frame, namespace: string): Promise<string> {
  const { rows } = await (await frame.connect()).query(
    `select datname from pg_database where datname ~ ('^' || $1 || '_u[0-9]+$')`,
    [namespace],
  )
  return rows[0].datname
}

async function startBareServer(frame: Frame, database: string): Promise<string> {
  const url = new URL((await frame.cluster()).url)
  url.pathname = `/${database}`
  const script = join(import.meta.dirname, 'query/bare-server.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', script, url.href, String(connections)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  frame.after(() => stop(child))
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return line
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill()
  await once(child, 'exit')
}
