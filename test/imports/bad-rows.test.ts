import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

const skip = { on_error: 'skip' }

test('on_error=skip leaves out and lists the lines of a CSV file that PostgreSQL refuses', async (t) => {
  const { load, user } = await setupImports(t)
  const done = await load('t.csv', 'a,b\n1,x\n2,y,too many\n3,z\n4\n5,"w"\n', skip)
  assert.equal(done.get_error_text, null)
  assert.equal(done.state, 'complete')
  assert.equal(done.rejected_rows, 2)
  assert.deepEqual(
    done.rejected?.map(({ line, sqlstate, text }) => [line, sqlstate, text]),
    [
      [3, '22P04', '2,y,too many'],
      [5, '22P04', '4'],
    ],
  )
  assert.deepEqual((await user.sql('select a, b from t order by a')).rows, [
    { a: '1', b: 'x' },
    { a: '3', b: 'z' },
    { a: '5', b: 'w' },
  ])
  assert.equal(done.total_rows, (await user.sql('select from t')).rowCount)
  const clean = await load('clean.csv', 'a\n1\n', skip)
  assert.equal(clean.total_rows, 1)
  assert.deepEqual([clean.state, 'rejected' in clean, 'rejected_rows' in clean], ['complete', false, false])
})

test('rows that do not fit the types of an existing table are left out', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql('create table t (n integer, d date)')
  const rows = Array.from({ length: 3_000 }, (_, at) => (at % 1_000 === 7 ? `x${at},2020-01-01` : `${at},`))
  const done = await load('t.csv', `n,d\n${rows.join('\n')}\n`, { ...skip, collision_strategy: 'append' })
  assert.equal(done.get_error_text, null)
  assert.deepEqual(
    done.rejected?.map(({ line, column, value }) => [line, column, value]),
    [
      [9, 'n', 'x7'],
      [1_009, 'n', 'x1007'],
      [2_009, 'n', 'x2007'],
    ],
  )
  assert.equal((await user.sql('select from t')).rowCount, 2_997)
})

test('more bad rows than max_bad_rows fail the import, and nothing is stored', async (t) => {
  const { load, user } = await setupImports(t)
  const content = 'a,b\n1,x\n2\n3\n4\n5,y\n'
  const failed = await load('t.csv', content, { ...skip, max_bad_rows: '2' })
  assert.deepEqual([failed.state, failed.error_code], ['failure', 2003])
  assert.match(failed.get_error_text!.what_about, /max_bad_rows.*line 5/s)
  assert.equal(failed.rejected_rows, 2)
  assert.deepEqual((await user.sql(`select from pg_class where relname = 't'`)).rows, [])
  assert.equal((await load('t.csv', content, { ...skip, max_bad_rows: '3' })).state, 'complete')
  assert.equal((await load('u.csv', content, { ...skip, max_bad_rows: '0' })).error_code, 2003)
})

test('a file without a row that can be stored fails', async (t) => {
  const { load } = await setupImports(t)
  const failed = await load('t.csv', 'a,b\n1\n2\n', skip)
  assert.deepEqual([failed.state, failed.error_code, failed.rejected_rows], ['failure', 2001, 2])
})

test('in other kinds of files, features with refused values are left out', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql('create table t (n integer, the_geom geometry(Geometry,4326))')
  const feature = (n: unknown) => ({
    type: 'Feature',
    properties: { n },
    geometry: { type: 'Point', coordinates: [1, 2] },
  })
  const features = [feature('1'), feature('two'), feature('99999999999'), feature('4')]
  const content = JSON.stringify({ type: 'FeatureCollection', features })
  const done = await load('t.geojson', content, { ...skip, collision_strategy: 'append' })
  assert.equal(done.get_error_text, null)
  assert.deepEqual(
    done.rejected?.map(({ line }) => line),
    [2, 3],
  )
  assert.deepEqual((await user.sql('select n from t order by 1')).rows, [{ n: 1 }, { n: 4 }])
})

test('the bad rows of all files of an archive count together', async (t) => {
  const { load } = await setupImports(t)
  const zip = zipOf([
    { name: 'one.csv', content: 'a,b\n1,2\n3\n' },
    { name: 'two.csv', content: 'a,b\n4\n5,6\n' },
  ])
  const done = await load('both.zip', zip, { ...skip, max_bad_rows: '2' })
  assert.deepEqual([done.get_error_text, done.rejected_rows], [null, 2])
  assert.deepEqual(
    done.rejected?.map(({ line, error }) => [line, error.split(':')[0]]),
    [
      [3, 'one.csv'],
      [2, 'two.csv'],
    ],
  )
  assert.equal((await load('both.zip', zip, { ...skip, max_bad_rows: '1' })).state, 'failure')
})

test('rejects=all lists every bad row with its whole text, so that it can be repaired as a file', async (t) => {
  const { load, user } = await setupImports(t)
  const long = 'x'.repeat(5_000)
  const rows = Array.from({ length: 400 }, (_, at) => (at % 2 ? `${at},${long},more` : `${at},y`))
  const all = { ...skip, rejects: 'all' }
  const csv = await load('t.csv', `a,"b ""c"\n${rows.join('\n')}\n`, all)
  assert.deepEqual([csv.state, csv.rejected_rows, csv.rejected?.length], ['complete', 200, 200])
  assert.equal(csv.rejected![199]!.text, `399,${long},more`)
  assert.deepEqual(csv.rejected_sections, [{ table: 't', rows: 200, header: 'a,"b ""c"' }])
  await user.sql('create table f (n integer, s text, the_geom geometry(Geometry,4326))')
  const feature = (n: unknown) => ({ type: 'Feature', properties: { n, s: 'a\tb' }, geometry: null })
  const content = JSON.stringify({
    type: 'FeatureCollection',
    features: [feature('1'), feature('two'), feature('3')],
  })
  const other = await load('f.geojson', content, { ...all, collision_strategy: 'append' })
  assert.deepEqual(
    other.rejected?.map(({ line, text }) => [line, text]),
    [[2, '\\N\ttwo\ta\\\tb']],
  )
  assert.deepEqual(other.rejected_sections, [{ table: 'f', rows: 1, columns: ['the_geom', 'n', 's'] }])
  const zip = zipOf([
    { name: 'one.csv', content: 'a,b\n1,2\n3\n' },
    { name: 'two.csv', content: 'c,d\n4\n5,6\n' },
  ])
  assert.deepEqual((await load('both.zip', zip, all)).rejected_sections, [
    { table: 'one', rows: 1, header: 'a,b' },
    { table: 'two', rows: 1, header: 'c,d' },
  ])
  const short = await load('t.csv', 'a,b\n1,2\n3\n', skip)
  assert.ok(!('rejected_sections' in short))
})

test('a list of rejected rows ends at 16 MB', async (t) => {
  const { load } = await setupImports(t)
  const long = 'x'.repeat(1024 * 1024)
  const content = `a\n1\n${Array.from({ length: 17 }, () => `2,${long}`).join('\n')}\n`
  const failed = await load('t.csv', content, { ...skip, rejects: 'all' })
  assert.deepEqual([failed.state, failed.error_code], ['failure', 2003])
  assert.match(failed.get_error_text!.what_about, /up to 16 MB/)
})

test('a line of \\. does not hide the rows after it', async (t) => {
  const { load } = await setupImports(t)
  const failed = await load('t.csv', 'a\n1\n\\.\n2\n3\n', skip)
  assert.deepEqual([failed.state, failed.error_code], ['failure', 2003])
})

test('wrong values of on_error and max_bad_rows are refused', async (t) => {
  const { post, user } = await setupImports(t)
  const wrong: Record<string, string>[] = [
    { on_error: 'ignore' },
    { max_bad_rows: '5' },
    { ...skip, max_bad_rows: '-1' },
    { ...skip, max_bad_rows: 'many' },
    { rejects: 'all' },
    { ...skip, rejects: 'some' },
  ]
  for (const fields of wrong)
    assert.equal((await post('t.csv', 'a\n1\n', fields)).status, 400, JSON.stringify(fields))
  const body = JSON.stringify({ sql: 'select 1', table_name: 'x', ...skip })
  const headers = { 'content-type': 'application/json' }
  const address = `${user.base}/api/v1/imports?api_key=${user.masterToken}`
  assert.equal((await fetch(address, { method: 'POST', headers, body })).status, 400)
})

test('the lists of rejected rows of a user are limited: older ones are dropped, their number stays', async (t) => {
  const { load, wait, user, service } = await setupImports(t)
  const { control } = service.services.databases
  // Random text, which PostgreSQL cannot compress.
  const long = () => randomBytes(750_000).toString('base64')
  const content = () => `a\n1\n${Array.from({ length: 10 }, () => `2,${long()}`).join('\n')}\n`
  const all = { ...skip, rejects: 'all' }
  const ids: string[] = []
  for (let times = 0; times < 4; times++) ids.push((await load('t.csv', content(), all)).id)
  const kept = await Promise.all(ids.map((id) => wait(id)))
  assert.deepEqual(
    kept.map(({ rejected_rows: count, rejected }) => [count, rejected?.length]),
    [
      [10, 0],
      [10, 10],
      [10, 10],
      [10, 10],
    ],
  )
  const { rows } = await control.query<{ bytes: string }>(
    'select sum(pg_column_size(result)) as bytes from cartage.imports where user_id = $1',
    [user.account.userId],
  )
  assert.ok(Number(rows[0]!.bytes) <= 32 * 1024 ** 2 + 4 * 1024, rows[0]!.bytes)
})
