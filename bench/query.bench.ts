import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { onceAPair } from './frame/measure.ts'
import { ProcessSampler } from './frame/process-use.ts'
import { type BenchAccount, prepareAccount } from './query/bench-account.ts'
import { pgbench } from './query/pgbench.ts'
import { psqlCopy } from './query/psql-copy.ts'
import { type LoadResult, rawLoad } from './query/raw-load.ts'

const connections = 8
const seconds = 3

const statements = {
  one: { title: 'SELECT 1', sql: 'select 1', pgbenchAim: '0.12 or more', bareAim: '0.6 or more' },
  rows: {
    title: '10,000 rows of 5 columns as JSON',
    sql: 'select * from rows10k',
    pgbenchAim: '0.45 or more',
    bareAim: '2 or more',
  },
} as const

export const entries: readonly Entry[] = [
  ...Object.entries(statements).flatMap(([name, { title, sql, pgbenchAim, bareAim }]): Entry[] => [
    {
      name: `query-${name}-pgbench`,
      title: `${title} through the SQL endpoint, one process`,
      baseline: 'pgbench with the same statement',
      unit: '1/s',
      aim: pgbenchAim,
      pairs: 7,
      prepare: inFrame(async (frame) => {
        const account = await prepareAccount(frame)
        const bench = await pgbench(frame, sql, account.database, connections)
        return { baseline: () => bench(seconds), ...loadOf(account, sql) }
      }),
    },
    {
      name: `query-${name}-bare`,
      title: `${title} through the SQL endpoint, one process`,
      baseline: 'node:http and a pool of pg, without authentication or cleaning',
      unit: '1/s',
      aim: bareAim,
      pairs: 7,
      prepare: inFrame(async (frame) => {
        const account = await prepareAccount(frame)
        const url = `${await startBareServer(frame, account.database)}/?q=${encodeURIComponent(sql)}`
        return {
          baseline: async () => (await rawLoad([url], connections, seconds * 1000)).rate,
          ...loadOf(account, sql),
        }
      }),
    },
  ]),
  rowsAs('csv', 'CSV', 'rows10k', '0.8 or more'),
  rowsAs('ndjson', 'NDJSON', 'rows10k', '0.7 or more'),
  rowsAs('geojson', 'GeoJSON, points', 'points10k', '0.5 or more'),
  {
    name: 'query-tail',
    title: 'One row by its primary key as JSON, over 64 kept connections: 99th percentile',
    baseline: 'the median of the same run',
    unit: 'ms',
    aim: '2.5 or less',
    pairs: 7,
    prepare: inFrame(async (frame) => {
      const { urlOf } = await prepareAccount(frame)
      const url = urlOf('select * from rows10k where id = 777')
      // Longer than the others: the tail consists of few requests.
      const run = onceAPair(() => rawLoad([url], 64, 4 * seconds * 1000))
      return {
        baseline: async () => (await run()).p50Ms,
        ours: async () => (await run()).p99Ms,
      }
    }),
  },
  {
    name: 'query-two-processes',
    title: 'SELECT 1 through two processes of the service',
    baseline: 'the same through one',
    unit: '1/s',
    aim: 'as much more as the machine has cores for',
    pairs: 7,
    prepare: inFrame(async (frame) => {
      const { service, urlOf } = await prepareAccount(frame)
      const second = await frame.startService({ CARTAGE_NAMESPACE: service.namespace })
      const [one, two] = [service, second].map(({ url }) => urlOf('select 1', 'json', url))
      const rate = async (urls: string[]) => (await rawLoad(urls, connections, seconds * 1000)).rate
      return { baseline: () => rate([one!]), ours: () => rate([one!, two!]) }
    }),
  },
]

/** All rows of a table in another format, over one connection. */
function rowsAs(format: string, title: string, table: string, aim: string): Entry {
  return {
    name: `query-${format}-copy`,
    title: `10,000 rows of 5 columns as ${title} through the SQL endpoint`,
    baseline: '`psql` with COPY of the same rows as CSV',
    unit: '1/s',
    aim,
    pairs: 7,
    prepare: inFrame(async (frame) => {
      const { database, urlOf } = await prepareAccount(frame)
      const sql = `select * from ${table}`
      const copy = await psqlCopy(frame, sql, database)
      return {
        baseline: () => copy(100),
        ours: async () => (await rawLoad([urlOf(sql, format)], 1, seconds * 1000)).rate,
      }
    }),
  }
}

function loadOf({ service, urlOf }: BenchAccount, sql: string) {
  const results: (LoadResult & { peakRssMb: number })[] = []
  const ours = async () => {
    const sampler = new ProcessSampler(service.pid, 500)
    const result = await rawLoad([urlOf(sql)], connections, seconds * 1000)
    results.push({ ...result, peakRssMb: sampler.stop().peakRssMb })
    return result.rate
  }
  const notes = () => {
    const { p50Ms, p99Ms, peakRssMb } = results.at(-1)!
    return `${connections} connections: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${peakRssMb.toFixed(0)} MB`
  }
  return { ours, notes }
}

async function startBareServer(frame: Frame, database: string): Promise<string> {
  const url = await frame.urlOf(database)
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
