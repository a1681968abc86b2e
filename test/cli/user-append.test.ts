import assert from 'node:assert/strict'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import type { Config } from '../../src/config/config.ts'
import { beginCartage, cartage, connection } from '../support/http/call.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { eventually, setup, sharedCluster } from '../support/service/setup.ts'

test('appended rows get points like the rows before them', async (t) => {
  const { house, me, file } = await setupFile(t, 'name,lon,lat\nEtna,14.9,37.7\n')
  assert.equal((await cartage(me, 'import', file, 'peaks')).code, 0)
  const appended = await cartage(me, 'import', file, 'peaks', '--append')
  assert.equal(appended.code, 0, appended.err)
  assert.match(appended.err, /\n {2}name text · points from lon, lat\n/)
  const points = 'select name, st_astext(the_geom) as at, the_geom_webmercator is null as lost from'
  const etna = { name: 'Etna', at: 'POINT(14.9 37.7)', lost: false }
  assert.deepEqual((await house.user.sql(`${points} peaks`)).rows, [etna, etna])
})

test('a table that gets more rows keeps its key, and the points of updated rows move', async (t) => {
  const { house, me, file } = await setupFile(t, 'id,lon,lat\n1,14.9,37.7\n2,,\n')
  await house.user.sql(`create table plain (id int primary key, lon float8, lat float8)`)
  for (const flags of [['--append'], ['--upsert', 'id'], ['--upsert', 'id']]) {
    const done = await cartage(me, 'import', file, 'plain', ...flags)
    assert.equal(done.code, 0, done.err)
    assert.doesNotMatch(done.err, /prepared for maps/)
  }
  const names = await house.user.sql(
    `select array_agg(attname::text order by attnum) as names from pg_attribute where attrelid = 'plain'::regclass and attnum > 0`,
  )
  assert.deepEqual(names.rows, [{ names: ['id', 'lon', 'lat'] }])

  assert.equal((await cartage(me, 'import', file, 'peaks')).code, 0)
  await house.user.sql(`create unique index on peaks (id); insert into peaks (id, lon, lat) values (7, 1, 2)`)
  const folder = await mkdtemp(join(tmpdir(), 'append-'))
  const [moved, rejects] = [join(folder, 'moved.csv'), join(folder, 'rejects.csv')]
  await writeFile(moved, 'id,lon,lat\n1,15,"38"\n2,3,4\nbad,5,6\n4\n5,7,8\n')
  const flags = ['--upsert', 'id', '--skip-bad-rows', '--rejects', rejects]
  const done = await cartage(me, 'import', moved, 'peaks', ...flags)
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /1 row added, 2 rows updated/)
  const at = async () =>
    (await house.user.sql('select id::int, st_astext(the_geom) as at from peaks order by id')).rows
  const seven = { id: 7, at: null }
  assert.deepEqual(await at(), [
    { id: 1, at: 'POINT(15 38)' },
    { id: 2, at: 'POINT(3 4)' },
    { id: 5, at: 'POINT(7 8)' },
    seven,
  ])
  assert.equal(await readFile(rejects, 'utf8'), 'id,lon,lat\nbad,5,6\n4\n')
  const kept = await cartage(me, 'import', file, 'peaks', '--upsert', 'id', '--on-conflict', 'nothing')
  assert.equal(kept.code, 0, kept.err)
  assert.deepEqual((await at())[0], { id: 1, at: 'POINT(15 38)' })
})

test('an upsert without --points replaces no geometry that is not the point of its row', async (t) => {
  const { house, me, file } = await setupFile(t, 'id,x,y\n1,14.9,37.7\n2,1,2\n')
  await house.user.sql(`create table areas (id int primary key, x float8, y float8, the_geom geometry(Geometry, 4326));
    insert into areas values (1, 14.9, 37.7, st_geomfromtext('POLYGON((0 0,0 9,9 9,0 0))', 4326));
    create table shapes (id int primary key, x float8, y float8, the_geom geometry(MultiPolygon, 4326))`)
  const upsert = (...flags: string[]) => cartage(me, 'import', file, ...flags, '--upsert', 'id')
  const geometries = async (table: string) =>
    (await house.user.sql(`select st_geometrytype(the_geom) as kind from ${table} order by id`)).rows.map(
      ({ kind }) => kind,
    )
  const kept = await upsert('areas')
  assert.equal(kept.code, 0, kept.err)
  assert.match(kept.err, /the_geom is not changed: --points x,y makes points, also of updated rows/)
  assert.deepEqual(await geometries('areas'), ['ST_Polygon', null])
  const shapes = await upsert('shapes')
  assert.equal(shapes.code, 0, shapes.err)
  assert.deepEqual(await geometries('shapes'), [null, null])
  assert.equal((await upsert('areas', '--points', 'x,y')).code, 0)
  assert.deepEqual(await geometries('areas'), ['ST_Point', 'ST_Point'])
})

test('an upsert goes on without moving points if the check of all geometries takes too long, and says so', async (t) => {
  const { house, me, file } = await setupFile(t, 'id,x,y\n1,14.9,37.7\n', { queryTimeoutMs: 4_000 })
  await house.user.sql(`create table spots (id int primary key, x float8, y float8, the_geom geometry(Geometry, 4326));
    insert into spots values (1, 1, 2, st_setsrid(st_makepoint(1, 2), 4326))`)
  const { url } = await sharedCluster()
  const holder = new pg.Client({ connectionString: withDatabase(url, house.user.account.database) })
  // If the test fails, the end of its database ends this connection.
  holder.on('error', () => undefined)
  await holder.connect()
  await holder.query('begin; lock table public.spots in access exclusive mode')
  const { ended } = beginCartage(me, ['import', file, 'spots', '--upsert', 'id'])
  // On another session: a transaction sees the activity at its first look.
  const waiting = async () => {
    const { rows } = await house.admin(
      `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%st_makepoint%' and datname = $1`,
      [house.user.account.database],
    )
    return rows.length
  }
  await eventually(async () => assert.equal(await waiting(), 1))
  await eventually(async () => assert.equal(await waiting(), 0))
  await holder.end()
  const done = await ended
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /spots is too large to see in time whether each geometry is the point of its row/)
  assert.match(done.err, /the_geom is not changed: --points x,y makes points/)
  const { rows } = await house.user.sql('select x, st_astext(the_geom) as at from spots')
  assert.deepEqual(rows, [{ x: 14.9, at: 'POINT(1 2)' }])
})

test('points that cannot be made are refused before a row is appended', async (t) => {
  const { house, me, file } = await setupFile(t, 'name,lon,lat\nEtna,14.9,37.7\n')
  await house.user.sql('create table bare (name text, lon float8, lat float8)')
  await house.user.sql('create table texts (name text, lon text, lat text)')
  const append = (table: string, ...flags: string[]) =>
    cartage(me, 'import', file, table, '--append', ...flags)
  const told = ['--points', 'lon,lat']
  const bare = await append('bare', ...told)
  const advice = 'prepare it for maps first (cartage table prepare bare)'
  assert.deepEqual([bare.code, bare.err], [2, `error: --points: bare has no column the_geom: ${advice}\n`])
  const texts = await append('texts', ...told)
  assert.deepEqual(
    [texts.code, texts.err],
    [2, 'error: --points: the column lon of texts is text, not a number\n'],
  )
  const { rows } = await house.user.sql(
    'select (select count(*) from bare) + (select count(*) from texts) as n',
  )
  assert.deepEqual(rows, [{ n: '0' }])
  assert.equal((await append('bare')).code, 0)
  assert.equal((await append('texts')).code, 0)
})

async function setupFile(t: Parameters<typeof setup>[0], text: string, config: Partial<Config> = {}) {
  const house = await setup(t, { worker: true, config })
  const file = join(await mkdtemp(join(tmpdir(), 'append-')), 'rows.csv')
  await writeFile(file, text)
  return { house, me: connection(house), file }
}
