import assert from 'node:assert/strict'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

const starts = {
  parquet: 'PAR1',
  gpkg: 'SQLite format 3',
  zip: 'PK',
  fgb: 'fgb',
  kml: '<?xml',
  xlsx: 'PK',
  sqlite: 'SQLite format 3',
  svg: '<?xml',
  topojson: '{"type":"Topology"',
  geojson: '{"type":"FeatureCollection"',
}

test('the extension of a file chooses the format of an export', async (t) => {
  const me = connection(await setup(t))
  const folder = await mkdtemp(join(tmpdir(), 'export-'))
  for (const [ending, start] of Object.entries(starts)) {
    const file = join(folder, `places.${ending}`)
    const q = 'select 1 as id, st_setsrid(st_makepoint(1, 2), 4326) as the_geom'
    const { code, err } = await cartage(me, 'export', q, '-o', file)
    assert.equal(code, 0, err)
    assert.equal((await readFile(file)).toString('latin1', 0, start.length), start, ending)
  }
})

test('an export reports what the file cannot hold as the query had it', async (t) => {
  const me = connection(await setup(t))
  const file = join(await mkdtemp(join(tmpdir(), 'export-')), 'times.gpkg')
  const q = `select timestamptz '2026-01-31 10:00:00.123456+00' as at`
  const { code, err } = await cartage(me, 'export', q, '-o', file)
  assert.equal(code, 0)
  assert.equal(err, 'warning: column at: 1 value, the first in row 1, cut to milliseconds\n')
})

test('export --link prints an address that downloads the rows without a key', async (t) => {
  const me = connection(await setup(t))
  const made = await cartage(me, 'export', 'select 7 as n', '--link', '--max-downloads', '1')
  assert.equal(made.code, 0, made.err)
  assert.match(made.err, /^works without a key until 20\d\d-/)
  const url = made.out.trim()
  assert.equal(await (await fetch(url)).text(), 'n\r\n7\r\n')
  assert.equal((await fetch(url)).status, 404)
  for (const [args, said] of [
    [['--expires-in', '5'], '--expires-in needs --link'],
    [['--link', '-o', 'x.csv'], '--link saves nothing: leave out -o, and use --format'],
    [['--link', '--format', 'binary'], 'a link has no format binary'],
  ] as const) {
    const refused = await cartage(me, 'export', 'select 1', ...args)
    assert.equal(refused.code, 2)
    assert.ok(refused.err.includes(said), refused.err)
  }
})
