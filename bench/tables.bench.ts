import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Entry } from './frame/entry.ts'
import { inFrame } from './frame/frame.ts'
import { seconds } from './frame/measure.ts'
import { psql } from './frame/psql.ts'

// For a trial: CARTAGE_BENCH_ROWS=50000 npm run bench -- tables
const rows = Number(process.env.CARTAGE_BENCH_ROWS ?? 1_000_000)
const triggers = ['test_quota', 'test_quota_per_row', 'track_updates']

export const entries: readonly Entry[] = [
  {
    name: 'tables-copy',
    title: `COPY of ${rows} points into a prepared table of a user with a quota`,
    baseline: 'the same with the webmercator trigger only',
    unit: 's',
    aim: '1.3 or less',
    pairs: 5,
    prepare: inFrame(async (frame) => {
      const service = await frame.startService()
      await service.admin('POST', '/users', { username: 'mapper', quota_in_bytes: 20 * 1024 ** 3 })
      const role = `${service.namespace}_u1`
      const client = await frame.connect(role)
      const logIn = `set session authorization ${pg.escapeIdentifier(role)}; set search_path = public, cartodb, postgis`
      await client.query(logIn)
      await client.query('create table points (name text, v float8)')
      await client.query(`select CDB_CartodbfyTable('points')`)
      const file = join(await frame.makeFolder(), 'points.csv')
      await writePoints(file)
      const url = await frame.urlOf(role)
      const copy = async (act: 'enable' | 'disable') => {
        await client.query('truncate points')
        for (const trigger of triggers) await client.query(`alter table points ${act} trigger ${trigger}`)
        return seconds(async () => psql(url, ['-c', logIn, '-c', copyPoints(file)]))
      }
      return { baseline: () => copy('disable'), ours: () => copy('enable') }
    }),
  },
]

async function writePoints(file: string): Promise<void> {
  const out = createWriteStream(file)
  for (let row = 0; row < rows; row++) {
    const line = `SRID=4326;POINT(${((row * 7) % 360) - 180} ${((row * 3) % 170) - 85}),name ${row},${row / 3}\n`
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'finish')
}

const copyPoints = (file: string) => `\\copy public.points(the_geom, name, v) from '${file}' csv`
