import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnNamesOf, tableNameOf } from '../../src/imports/files/names.ts'
import { setupImports } from '../support/imports/import-api.ts'

test('parameters may come after the file, a second file is refused, and the body wins over the query', async (t) => {
  const { user, wait, nothingLeft } = await setupImports(t)
  const url = (query: Record<string, string>) =>
    `${user.base}/api/v1/imports?${new URLSearchParams({ ...query, api_key: user.masterToken })}`
  const file = () => new Blob(['a,b\n01,2\n'])
  const late = new FormData()
  late.append('file', file(), 'late.csv')
  late.append('table_name', 'told later')
  late.append('type_guessing', 'false')
  const posted = await fetch(url({ table_name: 'of_the_query', privacy: 'public' }), {
    method: 'POST',
    body: late,
  })
  const { item_queue_id: id } = (await posted.json()) as { item_queue_id: string }
  assert.equal((await wait(id)).table_name, 'told_later')
  const readable = `select has_table_privilege($1, 'told_later', 'select') as yes`
  assert.deepEqual((await user.sql(readable, [user.account.publicRole])).rows, [{ yes: true }])

  const two = new FormData()
  two.append('file', file(), 'one.csv')
  two.append('file', file(), 'two.csv')
  assert.equal((await fetch(url({}), { method: 'POST', body: two })).status, 400)

  const json = await fetch(url({ table_name: 'of_the_query', privacy: 'public' }), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ sql: 'select 1 as a', table_name: 'of_the_body', privacy: 'private', type_guessing: true },
      // Accepted without effect.
      ...{ content_guessing: true, create_vis: true, table_id: 'x', user_defined_limits: '{}', client: 'x' },
    }),
  })
  const made = await wait(((await json.json()) as { item_queue_id: string }).item_queue_id)
  assert.deepEqual([made.get_error_text, made.table_name], [null, 'of_the_body'])
  const hidden = await user.sql(`select has_table_privilege($1, 'of_the_body', 'select') as yes`, [
    user.account.publicRole,
  ])
  assert.deepEqual(hidden.rows, [{ yes: false }])
  await nothingLeft()
})

test('leading zeros stay text, and quoted values stay text if that is wanted', async (t) => {
  const { load, user } = await setupImports(t)
  const csv = 'zip,quoted,plain\n01234,"1",2\n00001,"2",3\n'
  const typesOf = async (table: string) =>
    (
      await user.sql(
        `select array_agg(format_type(atttypid, null) order by attnum) as types from pg_attribute
         where attrelid = $1::regclass and attname in ('zip', 'quoted', 'plain')`,
        [table],
      )
    ).rows[0].types
  await load('usual.csv', csv)
  assert.deepEqual(await typesOf('usual'), ['text', 'bigint', 'bigint'])
  await load('quoted.csv', csv, { quoted_fields_guessing: 'false' })
  assert.deepEqual(await typesOf('quoted'), ['text', 'text', 'bigint'])
  await load('texts.csv', csv, { type_guessing: 'false' })
  assert.deepEqual(await typesOf('texts'), ['text', 'text', 'text'])
})

test('a column whose values PostgreSQL refuses becomes text with a warning, and no row is lost', async (t) => {
  const { load, user } = await setupImports(t)
  const features = ['2020-01-31T10:00:00Z', '0000-01-01T00:00:00Z'].map((seen, at) => ({
    type: 'Feature',
    properties: { n: at, seen },
    geometry: null,
  }))
  const done = await load('t.geojson', JSON.stringify({ type: 'FeatureCollection', features }))
  assert.equal(done.get_error_text, null)
  assert.deepEqual(done.warnings?.columns_as_text, ['seen'])
  const { rows } = await user.sql(
    'select n, pg_typeof(seen)::text as type, left(seen, 4) as year from t order by n',
  )
  assert.deepEqual(rows, [
    { n: 0, type: 'text', year: '2020' },
    { n: 1, type: 'text', year: '0000' },
  ])
})

test('the answer of a link in privacy is public, and that of private is not', async (t) => {
  const { load, user } = await setupImports(t)
  for (const [privacy, isPublic] of [
    ['link', true],
    ['public', true],
    ['private', false],
  ] as const) {
    await load(`${privacy}.csv`, 'a\n1\n', { privacy, table_name: `t_${privacy}` })
    const answer = await fetch(`${user.base}/api/v2/sql?q=select+a+from+t_${privacy}`)
    assert.equal(answer.status === 200, isPublic, privacy)
  }
})

test('names of tables and columns are plain words, each once', () => {
  assert.equal(tableNameOf('Ñandú Größe 2'), 'nandu_grosse_2')
  assert.equal(tableNameOf('2020 data'), 'table_2020_data')
  assert.equal(tableNameOf('_x'), 'table__x')
  assert.equal(tableNameOf('select'), 'select_t')
  assert.equal(tableNameOf('é'.repeat(100)).length, 63)
  assert.deepEqual(
    columnNamesOf(['A', 'a', '1st', 'order', 'xmin', '', null, 'Å b', 'a_1'], ['the_geom_webmercator']),
    ['a', 'a_1', '_1st', '_order', 'xmin_1', 'column_6', 'column_7', 'a_b', 'a_1_1'],
  )
  const [first, second] = columnNamesOf(['x'.repeat(80), 'x'.repeat(80)])
  assert.deepEqual([first!.length, second!.length, second!.endsWith('_1')], [63, 63, true])
})
