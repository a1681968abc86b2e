import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { readHead } from '../../src/imports/files/upload-files.ts'
import { made, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'
import { withDatabase } from '../support/runner/namespace.ts'

test('a cartodb_id that the table already has, or that is duplicate or missing, is 2011', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t)
  await load('t.csv', 'cartodb_id,a\n1,x\n2,y\n')
  const cases = [
    ['append', 'cartodb_id,a\n3,new\n2,z\n', /\(cartodb_id\)=\(2\)/],
    ['overwrite', 'cartodb_id,a\n7,x\n7,y\n', /\(cartodb_id\)=\(7\)/],
    ['append', 'cartodb_id,a\n8,x\n,y\n', /cartodb_id/],
  ] as const
  for (const [collision_strategy, content, text] of cases) {
    const failed = await load('t.csv', content, { collision_strategy })
    assert.deepEqual([failed.state, failed.error_code], ['failure', 2011], JSON.stringify(failed))
    assert.match(failed.get_error_text!.what_about, text)
  }
  assert.deepEqual((await user.sql('select cartodb_id as id, a from t order by 1')).rows, [
    { id: '1', a: 'x' },
    { id: '2', a: 'y' },
  ])
  await nothingLeft()
})

test('a table that is locked for ten seconds is not overwritten: 2013, and its rows stay', async (t) => {
  const { load, user, keys, nothingLeft } = await setupImports(t)
  await load('t.csv', 'a\n1\n')
  const reader = new pg.Client({ connectionString: withDatabase(keys.adminUrl, user.account.database) })
  await reader.connect()
  await reader.query('begin; select from public.t')
  const failed = await load('t.csv', 'a\n2\n', { collision_strategy: 'overwrite' })
  assert.deepEqual([failed.state, failed.error_code], ['failure', 2013])
  assert.match(failed.get_error_text!.what_about, /t is in use/)
  await reader.end()
  assert.deepEqual((await user.sql('select a from t')).rows, [{ a: '1' }])
  await nothingLeft()
})

test('a file that does not fit into the quota is 8001, and nothing is stored', async (t) => {
  const house = await setupImports(t)
  const poor = await house.createUser({ quotaBytes: 2 * 1024 ** 2 })
  const rows = Array.from({ length: 100_000 }, (_, at) => `${at},a text of row ${at}`)
  const failed = await house.load('large.csv', `n,t\n${rows.join('\n')}\n`, {}, poor)
  assert.deepEqual([failed.state, failed.error_code], ['failure', 8001])
  const tables = `select from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')`
  assert.equal((await poor.sql(tables)).rowCount, 0)
  assert.equal((await house.load('small.csv', 'a\n1\n', {}, poor)).state, 'complete')
  await house.nothingLeft()
})

test('a table whose name is taken with every number is 1014', { timeout: 240_000 }, async (t) => {
  const { load, user, admin } = await setupImports(t)
  await admin(
    `do $$ begin
       for number in 0..9999 loop
         execute format('create type public.%I as ()', case number when 0 then 't' else 't_' || number end);
         if number % 1000 = 0 then commit; end if;
       end loop;
     end $$`,
    [],
    user.account.database,
  )
  const failed = await load('t.csv', 'a\n1\n')
  assert.deepEqual([failed.state, failed.error_code], ['failure', 1014])
  assert.match(failed.get_error_text!.what_about, /No name is free/)
})

test('text in UTF-16 is 2006', async (t) => {
  const { load } = await setupImports(t)
  for (const content of [
    Buffer.from('\ufeffa,b\n1,2\n', 'utf16le'),
    Buffer.from('\ufeffa,b\n1,2\n', 'utf16le').swap16(),
  ]) {
    const failed = await load('wide.csv', content)
    assert.deepEqual([failed.state, failed.error_code], ['failure', 2006])
    assert.match(failed.get_error_text!.what_about, /UTF-16/)
  }
})

test('only the beginning of a .cpg is read, however long it is', async (t) => {
  const { load } = await setupImports(t)
  const files = [...made('ESRI Shapefile', 'p.shp', pointsWith('name', ['one', 'two']))]
    .filter(([name]) => !name.endsWith('.cpg'))
    .map(([name, content]) => ({ name, content }))
  const long = { name: 'p.cpg', content: `UTF-8${' '.repeat(200_000)}x` }
  const seen = await load('p.zip', zipOf([...files, long]), { preview: 'true' })
  assert.equal(seen.state, 'complete', JSON.stringify(seen.get_error_text))
  assert.equal(seen.preview![0]!.encoding, 'UTF-8')
  const path = join(newFolder(t), 'huge.cpg')
  writeFileSync(path, 'UTF-8')
  // More than Node can read in one call.
  truncateSync(path, 5 * 1024 ** 3)
  const head = await readHead(path)
  assert.equal(head.subarray(0, 5).toString(), 'UTF-8')
  assert.ok(head.length <= 64 * 1024)
})

test('a value that GDAL cannot read as the type of its column fails the import and is named', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t)
  const dated = pointsWith('day', ['2026-01-01', '2026-01-02'])
  const path = join(newFolder(t), 'days.gpkg')
  writeFileSync(path, made('GPKG', 'days.gpkg', dated, '-nln', 'days').get('days.gpkg')!)
  execFileSync('ogrinfo', ['-q', path, '-sql', `update days set day = 'some day' where fid = 2`])
  const failed = await load('days.gpkg', readFileSync(path))
  assert.deepEqual([failed.state, failed.error_code], ['failure', 2001])
  assert.match(failed.get_error_text!.what_about, /record 2 in column day: some day/)
  assert.equal((await user.sql(`select to_regclass('days') as made`)).rows[0].made, null)
  await nothingLeft()
})

function pointsWith(property: string, values: readonly string[]): string {
  const geometry = { type: 'Point', coordinates: [1, 2] }
  const features = values.map((value) => ({ type: 'Feature', properties: { [property]: value }, geometry }))
  return JSON.stringify({ type: 'FeatureCollection', features })
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cartage-codes-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
