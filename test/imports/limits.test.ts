import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { type ImportHouse, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'
import { send } from '../support/postgres/copying.ts'
import { eventually } from '../support/service/setup.ts'

/** Imports without a file, and waits for the end. */
async function loadQuery({ wait }: ImportHouse, user: ImportHouse['user'], body: object) {
  const answer = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  return wait(id, user)
}

test('a user may have three unfinished imports; another one is refused with 429', async (t) => {
  const { post, user } = await setupImports(t, { importsPerWorker: 0 })
  const ids: string[] = []
  for (let number = 0; number < 3; number++) {
    const answer = await post('t.csv', 'a\n1\n')
    assert.equal(answer.status, 200)
    ids.push(((await answer.json()) as { item_queue_id: string }).item_queue_id)
  }
  const refused = await post('t.csv', 'a\n1\n')
  const words = "We're sorry but you're already using your allowed 3 import slots"
  assert.equal(refused.status, 429)
  const { errors, error } = (await refused.json()) as { errors: { imports: string }; error: string[] }
  assert.deepEqual([errors.imports, error], [words, [words]])
  const cancel = async (id: string) => {
    const url = `${user.base}/api/v1/imports/${id}?api_key=${user.masterToken}`
    assert.equal((await fetch(url, { method: 'DELETE' })).status, 200)
  }
  await cancel(ids.shift()!)
  const next = await post('t.csv', 'a\n1\n')
  assert.equal(next.status, 200)
  ids.push(((await next.json()) as { item_queue_id: string }).item_queue_id)
  for (const id of ids) await cancel(id)
})

test('an import with too many rows or tables is 6668 or 1019, and stores nothing', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t, { importMaxRows: 5, importMaxTables: 2 })
  const csv = (rows: number) => `a\n${'1\n'.repeat(rows)}`
  const feature = '{"type":"Feature","properties":{},"geometry":null}'
  const zip = (count: number, rows: number) =>
    zipOf(Array.from({ length: count }, (_, at) => ({ name: `t${at}.csv`, content: csv(rows) })))
  const folder = (name: string) =>
    `<Folder><name>${name}</name><Placemark><name>p</name></Placemark></Folder>`
  const kml = `<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>${['a', 'b', 'c'].map(folder).join('')}</Document></kml>`
  for (const [name, content, code] of [
    ['rows.csv', csv(6), 6668],
    ['rows.geojsonl', `${feature}\n`.repeat(6), 6668],
    ['rows.zip', zip(2, 3), 6668],
    ['tables.zip', zip(3, 1), 1019],
    ['tables.kml', kml, 1019],
  ] as const) {
    const done = await load(name, content)
    assert.deepEqual([done.state, done.error_code], ['failure', code], name)
  }
  const tables = `select from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')`
  assert.equal((await user.sql(tables)).rowCount, 0)
  assert.equal((await load('fits.zip', zip(2, 2))).state, 'complete')
  await nothingLeft()
})

test('a query or a copy of a table with too many rows is 6668, and stores nothing', async (t) => {
  const house = await setupImports(t, { importMaxRows: 5 })
  const { user } = house
  await user.sql('create table six as select generate_series(1, 6) as n')
  for (const source of [
    { sql: 'select n from six -- all of them' },
    { sql: 'select n from generate_series(1, 1000000) n' },
    { table_copy: 'six' },
  ]) {
    const failed = await loadQuery(house, user, { ...source, table_name: 'made' })
    assert.deepEqual([failed.state, failed.error_code], ['failure', 6668], JSON.stringify(source))
    assert.match(failed.get_error_text!.what_about, /at most 5 rows/)
  }
  const tables = `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')`
  assert.deepEqual((await user.sql(tables)).rows, [{ name: 'six' }])
  const sql = 'select n from six order by n desc limit 5'
  const done = await loadQuery(house, user, { sql, table_name: 'made' })
  assert.deepEqual([done.get_error_text, done.progress.rows], [null, 5])
  assert.equal((await user.sql('select from made where n > 1')).rowCount, 5)
})

test('a query that does not fit into the quota is 8001, also beside a running upload', async (t) => {
  const house = await setupImports(t)
  const poor = await house.createUser({ quotaBytes: 8 * 1024 ** 2 })
  const make = (rows: number, table_name: string) =>
    loadQuery(house, poor, {
      sql: `select n, repeat('x', 1000) as t from generate_series(1, ${rows}) n`,
      table_name,
    })
  const large = await make(20_000, 'large')
  assert.deepEqual([large.state, large.error_code], ['failure', 8001])
  // No other transaction sees its table before it is committed.
  const sql = 'CREATE TABLE uploaded (t text); COPY uploaded FROM STDIN;\n'
  const query = new URLSearchParams({ sql_bytes: String(sql.length), api_key: poor.masterToken })
  const upload = new PassThrough()
  const stored = send(`${poor.base}/api/v2/sql/copyfrom?${query}`, { method: 'POST' }, upload)
  upload.write(sql)
  upload.write(`${'x'.repeat(999)}\n`.repeat(5_000))
  await eventually(async () => {
    const { rowCount } = await house.admin(
      'select from pg_stat_progress_copy where datname = $1 and tuples_processed > 4000',
      [poor.account.database],
    )
    assert.equal(rowCount, 1)
  })
  const beside = await make(4_000, 'beside')
  assert.deepEqual([beside.state, beside.error_code], ['failure', 8001])
  upload.end()
  assert.equal((await stored).status, 200)
  await poor.sql('drop table uploaded')
  assert.equal((await make(4_000, 'beside')).get_error_text, null)
  const { rows } = await poor.sql(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  )
  assert.deepEqual(rows, [{ name: 'beside' }])
})

test('an import beyond its time limit is 6667 and stores nothing', async (t) => {
  const house = await setupImports(t, { importTimeoutMs: 1_500 })
  const { user } = house
  const done = await loadQuery(house, user, { sql: 'select 1 as a from pg_sleep(60)', table_name: 'late' })
  assert.deepEqual([done.state, done.error_code], ['failure', 6667])
  assert.equal((await user.sql(`select from pg_class where relname = 'late'`)).rowCount, 0)
})
