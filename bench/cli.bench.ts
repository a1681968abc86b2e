import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { kinds } from './copy/field.ts'
import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { seconds } from './frame/measure.ts'
import { projectRoot } from './frame/service.ts'

// For a trial: CARTAGE_BENCH_MB=20 CARTAGE_BENCH_ROWS=100000 npm run bench -- cli
const megabytes = Number(process.env.CARTAGE_BENCH_MB ?? 500)
const rows = Number(process.env.CARTAGE_BENCH_ROWS ?? 1_000_000)

const program = join(projectRoot, 'bin/cartage.mjs')

export const entries: readonly Entry[] = [
  {
    name: 'cli-start',
    title: '`cartage --help`',
    baseline: 'Node alone',
    unit: 'ms',
    aim: 'under 250 ms on an idle machine',
    pairs: 21,
    prepare: inFrame(async () => ({
      baseline: () => milliseconds(['-e', '']),
      ours: () => milliseconds([program, '--help']),
    })),
  },
  {
    name: 'cli-sql',
    title: `\`cartage sql\` of ${rows.toLocaleString('en-US')} rows into a file`,
    baseline: 'curl',
    unit: 's',
    aim: '1.15 or less',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const { shell, folder } = await openAccount(frame)
      const query = `select i as id, md5(i::text) as a, i * 1.5 as b, i % 7 as c, 'name ' || i as d from generate_series(1, ${rows}) i`
      const curl = `curl -sSf -o out -u "bench:$CARTAGE_API_KEY" --data-urlencode "q=${query}" -d format=ndjson "$CARTAGE_URL/user/bench/api/v2/sql"`
      return {
        baseline: () => seconds(() => shell(curl)),
        ours: () => seconds(() => shell(`env time -f %M -o rss node '${program}' sql "${query}" > out`)),
        notes: async () =>
          `peak RSS ${Math.round(Number(await readFile(join(folder, 'rss'), 'utf8')) / 1000)} MB`,
      }
    }),
  },
  {
    name: 'cli-import',
    title: `\`cartage import\` of ${megabytes} MB of CSV`,
    baseline: '`psql \\copy` and the pass for types',
    unit: 's',
    aim: '1.3 or less',
    pairs: 3,
    prepare: inFrame(async (frame) => {
      const { shell } = await openAccount(frame)
      const { rows: source, rowBytes } = kinds.wide
      const made = `select * from (${source(Math.ceil((megabytes * 1e6) / rowBytes))}) as made(${names})`
      await shell(`$psql -c "copy (${made.replaceAll('\n', ' ')}) to stdout csv header" > source.csv`)
      await shell(`$psql -c "create table target (${kinds.wide.columns})"`)
      const types = `node '${program}' import source.csv --dry-run --quiet > plan`
      return {
        baseline: async () => {
          await shell('$psql -c "truncate target"')
          return seconds(() => shell(`${types}; $psql -c "\\copy target from 'source.csv' csv header"`))
        },
        ours: async () => {
          const taken = await seconds(() =>
            shell(`node '${program}' import source.csv ours --no-prepare --quiet`),
          )
          await shell(`node '${program}' sql 'drop table ours'`)
          return taken
        },
      }
    }),
  },
]

const names = 'id, a, b, c, d, e, f, g, h, k'

async function milliseconds(args: readonly string[]): Promise<number> {
  return 1000 * (await seconds(() => promisify(execFile)(process.execPath, args)))
}

/** A service with a user, and a shell in its own folder that is signed in to both. */
async function openAccount(frame: Frame) {
  const service = await frame.startService()
  const user = (await service.admin('POST', '/users', { username: 'bench' })) as { api_key: string }
  const folder = await frame.makeFolder()
  const env = {
    ...process.env,
    psql: `psql -qX ${(await frame.cluster()).url}`,
    CARTAGE_URL: service.url,
    CARTAGE_USER: 'bench',
    CARTAGE_API_KEY: user.api_key,
    XDG_CONFIG_HOME: folder,
    XDG_STATE_HOME: folder,
  }
  const shell = async (command: string) => {
    await promisify(execFile)('sh', ['-ec', command], { cwd: folder, env })
  }
  return { shell, folder }
}
