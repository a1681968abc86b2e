import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'

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

test('an import beyond its time limit is 6667 and stores nothing', async (t) => {
  const { wait, user } = await setupImports(t, { importTimeoutMs: 1_500 })
  const answer = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql: 'select 1 as a from pg_sleep(60)', table_name: 'late' }),
  })
  const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
  const done = await wait(id)
  assert.deepEqual([done.state, done.error_code], ['failure', 6667])
  assert.equal((await user.sql(`select from pg_class where relname = 'late'`)).rowCount, 0)
})
