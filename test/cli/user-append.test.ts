import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

test('appended rows get points like the rows before them', async (t) => {
  const { house, me, file } = await setupFile(t, 'name,lon,lat\nEtna,14.9,37.7\n')
  assert.equal((await cartage(me, 'import', file, 'peaks')).code, 0)
  const appended = await cartage(me, 'import', file, 'peaks', '--append')
  assert.equal(appended.code, 0, appended.err)
  assert.match(appended.err, /\n {2}name text · points from lon, lat\n/)
  const points = 'select name, st_astext(the_geom) as at, the_geom_webmercator is null as lost from'
  const etna = { name: 'Etna', at: 'POINT(14.9 37.7)', lost: false }
  assert.deepEqual((await house.user.sql(`${points} peaks`)).rows, [etna, etna])

  await house.user.sql('create table plain (name text, lon float8, lat float8)')
  const prepared = await cartage(me, 'import', file, 'plain', '--append', '--points', 'lon,lat')
  assert.equal(prepared.code, 0, prepared.err)
  assert.deepEqual((await house.user.sql(`${points} plain`)).rows, [etna])
})

test('points that cannot be made are refused before a row is appended', async (t) => {
  const { house, me, file } = await setupFile(t, 'name,lon,lat\nEtna,14.9,37.7\n')
  await house.user.sql('create table bare (name text, lon float8, lat float8)')
  await house.user.sql('create table texts (name text, lon text, lat text)')
  const append = (table: string, ...flags: string[]) =>
    cartage(me, 'import', file, table, '--append', ...flags)
  const told = ['--points', 'lon,lat']
  const bare = await append('bare', ...told, '--no-prepare')
  assert.deepEqual(
    [bare.code, bare.err],
    [2, 'error: --points: bare has no column the_geom, and --no-prepare does not add it\n'],
  )
  const texts = await append('texts', ...told)
  assert.deepEqual(
    [texts.code, texts.err],
    [2, 'error: --points: the column lon of texts is text, not a number\n'],
  )
  const { rows } = await house.user.sql(
    'select (select count(*) from bare) + (select count(*) from texts) as n',
  )
  assert.deepEqual(rows, [{ n: '0' }])
  assert.equal((await append('bare', '--no-prepare')).code, 0)
  assert.equal((await append('texts')).code, 0)
})

async function setupFile(t: Parameters<typeof setup>[0], text: string) {
  const house = await setup(t, { worker: true })
  const file = join(await mkdtemp(join(tmpdir(), 'append-')), 'rows.csv')
  await writeFile(file, text)
  return { house, me: connection(house), file }
}
