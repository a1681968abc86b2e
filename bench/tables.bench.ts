import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import type { Entry } from './frame/entry.ts'
import { seconds } from './frame/measure.ts'
import { BenchService } from './frame/service.ts'

const rows = Number(process.env.BENCH_TABLE_ROWS ?? 1_000_000)
const triggers = ['test_quota', 'test_quota_per_row', 'track_updates']

/** What quota and metadata cost a long COPY into a prepared table. */
const copyIntoPrepared: Entry = {
  name: 'tables-copy',
  title: `COPY of ${rows.toLocaleString('en')} points into a prepared table with a quota`,
  baseline: 'the same with the webmercator trigger only',
  unit: 's',
  aim: 'at most 1.3',
  pairs: 5,
  prepare: async () => {
    const service = await BenchService.start()
    const user = await service.createUser('bench', { quota_in_bytes: 20 * 1024 ** 3 })
    const client = new pg.Client(user.databaseUrl)
    await client.connect()
    await client.query(`set role ${pg.escapeIdentifier(user.masterRole)}`)
    await client.query(`set search_path = public, cartodb`)
    await client.query('create table points (name text, v float8)')
    await client.query(`select cartodb.CDB_CartodbfyTable('points')`)
    const file = join(service.dataDir, 'points.csv')
    await writePoints(file)
    const copy = async (act: 'enable' | 'disable') => {
      await client.query('truncate points')
      for (const trigger of triggers) await client.query(`alter table points ${act} trigger ${trigger}`)
      return seconds(async () => psqlCopy(user.databaseUrl, file))
    }
    return {
      baseline: () => copy('disable'),
      ours: () => copy('enable'),
      tearDown: async () => {
        await client.end()
        await rm(file, { force: true })
        await service.stop()
      },
    }
  },
}

export const entries = [copyIntoPrepared]

async function writePoints(file: string): Promise<void> {
  const out = createWriteStream(file)
  for (let row = 0; row < rows; row++) {
    const line = `SRID=4326;POINT(${((row * 7) % 360) - 180} ${((row * 3) % 170) - 85}),name ${row},${row / 3}\n`
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'finish')
}

function psqlCopy(url: string, file: string): void {
  const command = `\\copy public.points(the_geom, name, v) from '${file}' csv`
  const { status, stderr } = spawnSync('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', '-c', command, url], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
}
