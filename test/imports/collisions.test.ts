import assert from 'node:assert/strict'
import { test } from 'node:test'
import { made, places, setupImports } from '../support/imports/import-api.ts'
import { zipOf } from '../support/imports/zip.ts'
import { keysClient } from '../support/keys/keys-client.ts'

test('a table with a taken name gets a number; with skip the existing table stays', async (t) => {
  const { load, user } = await setupImports(t)
  await load('t.csv', 'a\n1\n')
  const second = await load('t.csv', 'a\n2\n')
  assert.equal(second.table_name, 't_1')
  assert.deepEqual(second.warnings?.renamed, ['t_1'])
  const skipped = await load('t.csv', 'a\n3\n', { collision_strategy: 'skip' })
  assert.equal(skipped.state, 'complete')
  assert.equal(skipped.success, true)
  assert.equal(skipped.tables_created_count, 0)
  assert.equal(skipped.error_code, 1022)
  assert.deepEqual((await user.sql('select a from t')).rows, [{ a: '1' }])
})

/** With one row each. */
const csvZip = (...names: readonly string[]) =>
  zipOf(names.map((name) => ({ name: `${name}.csv`, content: 'n\n1\n' })))

const kmlOf = (...layers: readonly string[]) =>
  `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>${layers
    .map((name) => `<Folder><name>${name}</name><Placemark><name>p</name></Placemark></Folder>`)
    .join('')}</Document></kml>`

test('with skip, of several tables those that are there stay and the others are made', async (t) => {
  const { load, user, nothingLeft } = await setupImports(t)
  const skip = { collision_strategy: 'skip' }
  for (const table of ['pair', 'a', 'trip']) await user.sql(`create table ${table} as select 0 as old`)
  // The name of an archive is the name of no table.
  const part = await load('pair.zip', csvZip('a', 'b'), skip)
  assert.deepEqual([part.state, part.error_code, part.tables_created_count], ['complete', null, 1])
  assert.deepEqual([part.table_names, part.warnings], [['b'], { skipped_tables: ['a'] }])
  assert.equal(part.progress.rows, 1)
  const kml = kmlOf('X', 'Y')
  assert.deepEqual((await load('trip.kml', kml, skip)).table_names, ['trip_x', 'trip_y'])
  await user.sql('drop table trip_x')
  const layer = await load('trip.kml', kml, skip)
  assert.deepEqual([layer.table_names, layer.warnings], [['trip_x'], { skipped_tables: ['trip_y'] }])
  assert.equal(layer.progress.rows, 1)
  const gpkg = made('GPKG', 'a.gpkg', places).get('a.gpkg')!
  for (const [name, content, tables] of [
    ['pair.zip', csvZip('a', 'b'), ['a', 'b']],
    ['trip.kml', kml, ['trip_x', 'trip_y']],
    ['a.gpkg', gpkg, ['a']],
  ] as const) {
    const none = await load(name, content, skip)
    assert.deepEqual([none.state, none.success, none.error_code], ['complete', true, 1022], name)
    assert.deepEqual([none.table_names, none.tables_created_count], [tables, 0])
    const { bytes_read, bytes_total, rows } = none.progress
    assert.deepEqual([bytes_read, rows], [bytes_total, 0])
  }
  const same = await load('same.zip', csvZip('one/same', 'two/same'), skip)
  assert.deepEqual([same.table_names, same.warnings], [['same', 'same_1'], { renamed: ['same_1'] }])
  for (const table of ['pair', 'a', 'trip'])
    assert.deepEqual((await user.sql(`select old from ${table}`)).rows, [{ old: 0 }], table)
  await nothingLeft()
})

test('with skip, nothing is read of a file whose table is there', async (t) => {
  const { load, user, wait } = await setupImports(t)
  await user.sql('create table a as select 0 as old')
  const torn = 'n\n"1\n'
  for (const [name, content, fields] of [
    ['a.csv', torn],
    ['other.csv', torn, { table_name: 'A' }],
    ['a.geojson', 'not JSON'],
    ['a.xlsx', 'no workbook'],
    ['a.zip', zipOf([{ name: 'folder/a.csv', content: torn }])],
  ] as const) {
    const done = await load(name, content, { collision_strategy: 'skip', ...fields })
    assert.deepEqual([done.state, done.error_code, done.table_names], ['complete', 1022, ['a']], name)
    assert.equal(done.progress.bytes_read, done.progress.bytes_total)
  }
  for (const source of [{ sql: 'select 1/0 as n' }, { table_copy: 'nowhere' }]) {
    const answer = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...source, table_name: 'a', collision_strategy: 'skip' }),
    })
    const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
    const done = await wait(id)
    assert.deepEqual([done.state, done.error_code, done.table_names], ['complete', 1022, ['a']])
  }
  assert.equal((await load('a.csv', torn)).error_code, 2003)
})

test('overwrite sets columns that the file lacks to NULL, whatever their default', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(
    `create table t (a int, kind text default 'usual', "Since" date default now(), n int not null default 7);
     insert into t values (1)`,
  )
  const done = await load('t.csv', 'a\n2\n', { collision_strategy: 'overwrite' })
  assert.equal(done.get_error_text, null)
  assert.deepEqual(done.warnings?.missing_columns, ['kind', 'Since', 'n'])
  const { rows } = await user.sql('select a, kind, "Since" as since, n from t')
  assert.deepEqual(rows, [{ a: 2, kind: null, since: null, n: 7 }])
})

test('overwrite gives columns that the file lacks their default if the table refuses NULL in them', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(
    `create domain filled as text default 'd' constraint is_filled check (value is not null);
     create table t (a int, one text default 'x' check (one is not null), two int default 2, three int default 3, four filled,
       constraint pair check (two is not null or three is not null), free int default 5);
     insert into t values (1);
     create table parts (a int, k int default 1 check (k is not null)) partition by list (a);
     create table low partition of parts for values in (1, 2)`,
  )
  const fields = { collision_strategy: 'overwrite' }
  for (const on_error of ['stop', 'skip']) {
    const done = await load('t.csv', 'a\n7\n8\n', { ...fields, on_error })
    assert.equal(done.get_error_text, null)
    assert.deepEqual(done.warnings?.missing_columns, ['one', 'two', 'three', 'four', 'free'])
    const row = { one: 'x', two: 2, three: 3, four: 'd', free: null }
    assert.deepEqual((await user.sql('select * from t order by a')).rows, [
      { a: 7, ...row },
      { a: 8, ...row },
    ])
  }
  assert.equal((await load('parts.csv', 'a\n2\n', fields)).get_error_text, null)
  assert.deepEqual((await user.sql('select a, k from parts')).rows, [{ a: 2, k: 1 }])
  await user.sql('alter table t add constraint small check (a < 100)')
  const refused = await load('t.csv', 'a\n100\n', fields)
  assert.equal(refused.error_code, 2012)
  assert.match(refused.get_error_text!.what_about, /small/)
  assert.equal((await user.sql('select from t')).rowCount, 2)
})

test('overwrite replaces the rows, and grants, views, indexes and the identity of the table stay', async (t) => {
  const { load, user } = await setupImports(t)
  await load('t.csv', 'a,gone\n1,x\n')
  await user.sql(
    `create view seen as select a from t; create index by_a on t (a); grant select on t to ${user.account.publicRole}`,
  )
  const before = await user.sql(`select 't'::regclass::oid as oid`)
  const done = await load('t.csv', 'a,more\n7,y\n8,z\n', { collision_strategy: 'overwrite' })
  assert.equal(done.get_error_text, null)
  assert.equal(done.table_name, 't')
  assert.deepEqual(done.warnings?.missing_columns, ['gone'])
  assert.deepEqual((await user.sql('select a from seen order by 1')).rows, [{ a: '7' }, { a: '8' }])
  assert.deepEqual((await user.sql('select gone, more from t order by a')).rows, [
    { gone: null, more: 'y' },
    { gone: null, more: 'z' },
  ])
  assert.deepEqual((await user.sql(`select 't'::regclass::oid as oid`)).rows, before.rows)
  const { rows } = await user.sql(`select has_table_privilege($1, 't', 'select') as readable`, [
    user.account.publicRole,
  ])
  assert.deepEqual(rows, [{ readable: true }])
  const misfit = await load('t.csv', 'a\nnot a number\n', { collision_strategy: 'overwrite' })
  assert.equal(misfit.error_code, 2012)
  assert.equal((await user.sql('select from t')).rowCount, 2)
})

test('only its owner overwrites a table, and it stays public or private unless the import says otherwise', async (t) => {
  const { load, post, user } = await setupImports(t)
  await load('t.csv', 'a\n1\n', { privacy: 'public' })
  const fields = { collision_strategy: 'overwrite' }
  const schemas = [{ name: user.account.schema, permissions: ['create'] }]
  const { token } = await keysClient(user).make('maker', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', schemas },
  ])
  assert.equal((await post('t.csv', 'a\n2\n', fields, { ...user, masterToken: token })).status, 403)
  const isPublic = async () => {
    const { rows } = await user.sql(`select has_table_privilege($1, 't', 'select') as readable`, [
      user.account.publicRole,
    ])
    return rows[0].readable
  }
  await load('t.csv', 'a\n3\n', fields)
  assert.equal(await isPublic(), true)
  await load('t.csv', 'a\n4\n', { ...fields, privacy: 'private' })
  assert.equal(await isPublic(), false)
  assert.deepEqual((await user.sql('select a from t')).rows, [{ a: '4' }])
})

test('only its owner overwrites a table whose file is in an archive, whatever the archive is called', async (t) => {
  const { load, user } = await setupImports(t)
  await load('t.csv', 'n\n7\n')
  const schemas = [{ name: user.account.schema, permissions: ['create'] }]
  const permissions = ['insert', 'select', 'update', 'delete']
  const tables = [{ schema: user.account.schema, name: 't', permissions }]
  const { token } = await keysClient(user).make('maker', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', schemas, tables },
  ])
  const maker = { ...user, masterToken: token }
  const fields = { collision_strategy: 'overwrite' }
  const other = await load('t.zip', csvZip('mine'), fields, maker)
  assert.deepEqual([other.get_error_text, other.table_names], [null, ['mine']])
  const refused = await load('mine.zip', csvZip('mine', 't'), fields, maker)
  assert.deepEqual([refused.state, refused.error_code], ['failure', 2012])
  assert.match(refused.get_error_text!.what_about, /owner/)
  assert.deepEqual((await user.sql('select n from t')).rows, [{ n: '7' }])
})

test('append adds rows by column name, and new columns only on request', async (t) => {
  const { load, user } = await setupImports(t)
  await load('t.csv', 'a,b\n1,x\n')
  assert.equal((await load('t.csv', 'b,a\ny,2\n', { collision_strategy: 'append' })).get_error_text, null)
  const refused = await load('t.csv', 'a,c\n3,new\n', { collision_strategy: 'append' })
  assert.equal(refused.error_code, 2012)
  assert.match(refused.get_error_text!.what_about, /\bc\b/)
  assert.equal(
    (await load('t.csv', 'a,c\n3,new\n', { collision_strategy: 'append', add_columns: 'true' }))
      .get_error_text,
    null,
  )
  assert.deepEqual((await user.sql('select cartodb_id, a, b, c from t order by 1')).rows, [
    { cartodb_id: 1, a: '1', b: 'x', c: null },
    { cartodb_id: 2, a: '2', b: 'y', c: null },
    { cartodb_id: 3, a: '3', b: null, c: 'new' },
  ])
})

test('an error of one of several tables names its layer, or its file in the archive', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql('create table b (other int); create table trip_y (other int)')
  const fields = { collision_strategy: 'append' }
  const file = await load('both.zip', csvZip('a', 'b'), fields)
  assert.equal(file.error_code, 2012)
  assert.match(file.get_error_text!.what_about, /^b\.csv: The table b has no column n/)
  await user.sql('alter table b add n date')
  const value = await load('both.zip', csvZip('a', 'b'), fields)
  assert.equal(value.error_code, 2012)
  assert.match(value.get_error_text!.what_about, /^b\.csv: .*date/)
  const layer = await load('trip.kml', kmlOf('X', 'Y'), fields)
  assert.equal(layer.error_code, 2012)
  assert.match(layer.get_error_text!.what_about, /^layer 'Y': The table trip_y has no column /)
  const tables = `select from pg_class where relnamespace = 'public'::regnamespace and relname in ('a', 'trip_x')`
  assert.equal((await user.sql(tables)).rowCount, 0)
})

test('upsert updates rows with the same key, the last row of the file wins, and an index is required', async (t) => {
  const { load, user } = await setupImports(t)
  await load('t.csv', 'k,v\n1,old\n2,old\n')
  const fields = { collision_strategy: 'upsert', key: 'k' }
  const refused = await load('t.csv', 'k,v\n1,new\n', fields)
  assert.equal(refused.error_code, 2012)
  assert.match(refused.get_error_text!.what_about, /CREATE UNIQUE INDEX ON .*\("k"\)/)
  await user.sql('create unique index on t (k)')
  assert.equal((await load('t.csv', 'k,v\n1,first\n3,new\n1,last\n', fields)).get_error_text, null)
  assert.deepEqual((await user.sql('select k, v from t order by k')).rows, [
    { k: '1', v: 'last' },
    { k: '2', v: 'old' },
    { k: '3', v: 'new' },
  ])
})

test('rows that are merged into a table have their points, and rows that are kept keep theirs', async (t) => {
  const { load, user } = await setupImports(t)
  await load('t.csv', 'k,lon,lat\n1,10,20\n2,30,40\n')
  await user.sql('create unique index on t (k)')
  const at = async () =>
    (
      await user.sql(
        'select k, st_astext(the_geom) as at, st_x(the_geom_webmercator)::int as x from t order by k',
      )
    ).rows
  const update = { collision_strategy: 'upsert', key: 'k' }
  const moved = await load('t.csv', 'k,lon,lat\n1,11,21\n3,,\n', update)
  assert.equal(moved.get_error_text, null)
  const first = { k: '1', at: 'POINT(11 21)', x: 1224514 }
  const second = { k: '2', at: 'POINT(30 40)', x: 3339585 }
  assert.deepEqual(await at(), [first, second, { k: '3', at: null, x: null }])
  await load('t.csv', 'k,lon,lat\n1,5,5\n', { on_conflict: 'nothing', key: 'k' })
  assert.deepEqual((await at())[0], first)
  await load('t.csv', 'k,lon,lat\n1,,\n', update)
  assert.deepEqual((await at())[0], { k: '1', at: null, x: null })
})

test('an upsert moves points with their coordinates, and leaves other geometries', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(`create table t (k int primary key, lon float8, lat float8, the_geom geometry);
    insert into t values (1, 1, 2, st_setsrid('POINT(1 2)'::geometry, 4326)), (2, 3, 4, st_setsrid('POINT(3.1 4)'::geometry, 4326)),
      (3, null, null, st_setsrid('POINT(5 6)'::geometry, 4326)), (4, 7, 8, null), (5, 9, 9, st_geomfromtext('POLYGON((0 0,0 9,9 9,0 0))', 4326))`)
  const rows = '1,10,20\n2,10,20\n3,,\n4,10,20\n5,10,20\n6,10,20\n'
  const done = await load('t.csv', `k,lon,lat\n${rows}`, { collision_strategy: 'upsert', key: 'k' })
  assert.equal(done.get_error_text, null)
  const { rows: found } = await user.sql('select st_astext(the_geom) as at from t order by k')
  assert.deepEqual(
    found.map(({ at }) => at),
    [
      'POINT(10 20)',
      'POINT(3.1 4)',
      'POINT(5 6)',
      'POINT(10 20)',
      'POLYGON((0 0,0 9,9 9,0 0))',
      'POINT(10 20)',
    ],
  )
})

test('points are left out of a table without a place for them, unless columns may be added', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(`create table plain (k int primary key, lon float8, lat float8);
    create table made (k int primary key, lon float8, lat float8,
      the_geom geometry(Geometry,4326) generated always as (st_setsrid(st_makepoint(lon, lat), 4326)) stored)`)
  const csv = 'k,lon,lat\n1,10,20\n'
  for (const collision_strategy of ['append', 'upsert', 'overwrite']) {
    await user.sql('truncate made')
    const done = await load('made.csv', csv, { collision_strategy, key: 'k', add_columns: 'true' })
    assert.equal(done.get_error_text, null, collision_strategy)
    assert.deepEqual((await user.sql('select st_x(the_geom) as x from made')).rows, [{ x: 10 }])
  }
  for (const collision_strategy of ['append', 'upsert']) {
    await user.sql('truncate plain')
    const done = await load('plain.csv', csv, { collision_strategy, key: 'k' })
    assert.equal(done.get_error_text, null, collision_strategy)
    assert.deepEqual((await user.sql('select * from plain')).rows, [{ k: 1, lon: 10, lat: 20 }])
  }
  const fields = { collision_strategy: 'upsert', key: 'k', add_columns: 'true' }
  assert.equal((await load('plain.csv', csv, fields)).get_error_text, null)
  assert.deepEqual((await user.sql('select st_astext(the_geom) as at from plain')).rows, [
    { at: 'POINT(10 20)' },
  ])
})

test('on_conflict updates rows of the same key or leaves them, and tells how many', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(`create table t (k int primary key, v text); insert into t values (1, 'old');
    create table parts (k int primary key, v text) partition by range (k);
    create table low partition of parts for values from (0) to (10); insert into parts values (1, 'old')`)
  const csv = 'k,v\n1,new\n2,x\n3,first\n3,last\n'
  const rowsOf = async (table: string) =>
    (await user.sql(`select k, v from ${table} order by k`)).rows.map(({ k, v }) => `${k} ${v}`)
  const fields = { on_conflict: 'nothing', key: 'k' }
  const kept = await load('t.csv', csv, fields)
  assert.deepEqual(
    [kept.get_error_text, kept.total_rows, kept.inserted_rows, kept.updated_rows],
    [null, 4, 2, 0],
  )
  // As in copyfrom: an existing row stays, also if this file has stored it.
  assert.deepEqual(await rowsOf('t'), ['1 old', '2 x', '3 first'])
  await user.sql('delete from t where k > 1')
  for (const table of ['t', 'parts']) {
    const changed = await load(`${table}.csv`, csv, { ...fields, on_conflict: 'update' })
    assert.deepEqual([changed.get_error_text, changed.inserted_rows, changed.updated_rows], [null, 2, 1])
    assert.deepEqual(await rowsOf(table), ['1 new', '2 x', '3 last'])
  }
  const fresh = await load('fresh.csv', csv, fields)
  assert.deepEqual([fresh.get_error_text, fresh.inserted_rows, fresh.updated_rows], [null, 4, 0])
  // A bad row is left out, and no row is counted twice.
  const skipped = await load('t.csv', 'k,v\n1,again\nx,bad\n4,y\n', {
    ...fields,
    on_conflict: 'update',
    on_error: 'skip',
  })
  assert.deepEqual([skipped.inserted_rows, skipped.updated_rows, skipped.rejected_rows], [1, 1, 1])
  for (const wrong of [
    { on_conflict: 'update' },
    { ...fields, on_conflict: 'ignore' },
    { ...fields, collision_strategy: 'overwrite' },
  ]) {
    const body = new URLSearchParams({ filename: 't.csv', ...wrong })
    const answer = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}&${body}`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: csv,
    })
    assert.equal(answer.status, 400, JSON.stringify(wrong))
  }
  assert.deepEqual(await rowsOf('t'), ['1 again', '2 x', '3 last', '4 y'])
})

test('a query and a copy of a table can be imported as tables', async (t) => {
  const { load, user, wait } = await setupImports(t)
  await load('t.csv', 'a,lon,lat\n1,2,3\n2,4,5\n')
  const post = async (body: Record<string, unknown>) => {
    const answer = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { item_queue_id: id, ...rest } = (await answer.json()) as { item_queue_id: string }
    assert.equal(answer.status, 200, JSON.stringify(rest))
    return wait(id)
  }
  const query = await post({ sql: 'select a * 2 as doubled, the_geom from t', table_name: 'made' })
  assert.equal(query.get_error_text, null)
  assert.equal(query.data_type, 'query')
  assert.deepEqual((await user.sql('select doubled, st_x(the_geom) as x from made order by 1')).rows, [
    { doubled: '2', x: 2 },
    { doubled: '4', x: 4 },
  ])
  const copy = await post({ table_copy: 't', table_name: 'copied', privacy: 'public' })
  assert.equal(copy.get_error_text, null)
  assert.equal((await user.sql('select from copied')).rowCount, 2)
  const { rows } = await user.sql(`select has_table_privilege($1, 'copied', 'select') as readable`, [
    user.account.publicRole,
  ])
  assert.deepEqual(rows, [{ readable: true }])
  for (const sql of ['drop table t', 'select 1; drop table t', 'select nothing from nowhere', '']) {
    const answer = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sql, table_name: 'bad' }),
    })
    const { item_queue_id: id } = (await answer.json()) as { item_queue_id: string }
    assert.equal((await wait(id)).error_code, sql === '' ? 1005 : 8003, sql)
  }
  assert.equal((await user.sql('select from t')).rowCount, 2)
})

test('cancelling an import leaves no table and no file, and a finished import cannot be cancelled', async (t) => {
  const { post, user, left, wait, load } = await setupImports(t)
  const rows = Array.from({ length: 400_000 }, (_, at) => `${at},${at % 90},text of row ${at}`).join('\n')
  const { item_queue_id: id } = (await (await post('slow.csv', `lon,lat,c\n${rows}\n`)).json()) as {
    item_queue_id: string
  }
  const url = `${user.base}/api/v1/imports/${id}?api_key=${user.masterToken}`
  const answer = await fetch(url, { method: 'DELETE' })
  const cancelled = (await answer.json()) as { state: string; error_code: number; success: boolean }
  assert.deepEqual(
    [answer.status, cancelled.state, cancelled.error_code, cancelled.success],
    [200, 'failure', 6672, false],
  )
  assert.equal((await wait(id)).error_code, 6672)
  assert.equal((await fetch(url, { method: 'DELETE' })).status, 400)
  const done = await load('after.csv', 'a\n1\n')
  assert.equal(done.state, 'complete')
  const { rows: tables } = await user.sql(
    `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname !~ '^after'`,
  )
  assert.deepEqual(tables, [])
  assert.deepEqual(
    left().filter((name) => name === id),
    [],
  )
})
