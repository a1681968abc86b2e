import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../../src/client/client.ts'
import type { ImportDocument } from '../../src/contract/documents.ts'
import { setupImports } from '../support/imports/import-api.ts'
import { startImportApi } from '../support/imports/import-processes.ts'
import { zipOf } from '../support/imports/zip.ts'
import { startWorkerProcess } from '../support/jobs/worker-process.ts'
import { setup } from '../support/service/setup.ts'

const append = { on_error: 'skip', collision_strategy: 'append' }
const placesOf = ({ rejected }: ImportDocument) =>
  rejected?.map(({ line, column, value, sqlstate, text }) => [line, column, value, sqlstate, text])

test('rows that violate a constraint of the table are left out and listed, and all others are added', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(`create type color as enum ('red', 'blue');
    create domain small as integer check (value < 100);
    create table town (id int primary key);
    insert into town values (1), (2);
    create table t (id int primary key, name text not null, age int check (age >= 0), mail text unique,
      town int references town, color color, size small, check (age < id));
    insert into t values (1, 'there', 0, 'one@x', 1, 'red', 1)`)
  const lines = [
    '1,taken,0,two@x,1,red,1',
    '10,good,1,three@x,1,blue,2',
    '11,,1,four@x,1,red,3',
    '12,old,-5,five@x,1,red,4',
    '13,mail,1,one@x,1,red,5',
    '14,lost,1,six@x,9,red,6',
    '15,green,1,seven@x,1,green,7',
    '16,large,1,eight@x,1,red,500',
    '17,"in ""two""\nlines",90,nine@x,2,red,8',
    '18,last,1,ten@x,2,blue,9',
    '18,again,1,eleven@x,2,blue,9',
  ]
  const done = await load('t.csv', `id,name,age,mail,town,color,size\n${lines.join('\n')}\n`, append)
  assert.deepEqual([done.get_error_text, done.state, done.rejected_rows], [null, 'complete', 9])
  assert.deepEqual(placesOf(done), [
    [2, 'id', '1', '23505', lines[0]],
    [4, 'name', null, '23502', lines[2]],
    [5, 'age', '-5', '23514', lines[3]],
    [6, 'mail', 'one@x', '23505', lines[4]],
    [7, 'town', '9', '23503', lines[5]],
    [8, 'color', 'green', '22P02', lines[6]],
    [9, 'size', '500', '23514', lines[7]],
    [11, null, null, '23514', lines[8]],
    [13, 'id', '18', '23505', lines[10]],
  ])
  assert.match(done.rejected![0]!.error, /duplicate key value violates unique constraint "t_pkey"/)
  assert.deepEqual((await user.sql('select id from t order by id')).rows, [{ id: 1 }, { id: 10 }, { id: 18 }])
  assert.equal(done.progress.rows, 2)
})

test('a bad row among many makes few others load again, and no other row is lost', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql('create table t (n int not null check (n % 997 <> 5), s text)')
  const rows = Array.from({ length: 20_000 }, (_, at) => `${at},${'x'.repeat(at % 50)}`)
  const done = await load('t.csv', `n,s\n${rows.join('\n')}\n`, append)
  assert.deepEqual([done.get_error_text, done.rejected_rows], [null, 21])
  assert.deepEqual(
    done.rejected?.map(({ line, column, value }) => [line, column, value]),
    Array.from({ length: 21 }, (_, at) => [997 * at + 7, 'n', String(997 * at + 5)]),
  )
  const { rows: counted } = await user.sql(
    'select count(*)::int as rows, count(distinct n)::int as kinds from t',
  )
  assert.deepEqual(counted, [{ rows: 19_979, kinds: 19_979 }])
})

test('long rows that the table refuses are listed by their beginning, unless all are requested', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql('create table t (n int not null, s text)')
  const long = `,${'x'.repeat(170_000)}`
  const content = `n,s\n${Array.from({ length: 120 }, () => long).join('\n')}\n1,good\n`
  const done = await load('t.csv', content, append)
  assert.deepEqual([done.get_error_text, done.rejected_rows, done.rejected?.length], [null, 120, 100])
  assert.deepEqual(new Set(done.rejected!.map(({ text }) => text)), new Set([long.slice(0, 1024)]))
  assert.deepEqual((await user.sql('select * from t')).rows, [{ n: 1, s: 'good' }])
  const failed = await load('t.csv', content, { ...append, rejects: 'all' })
  assert.match(failed.get_error_text!.what_about, /rejects=all lists up to 16 MB/)
})

test("a list of whole rejected rows does not fill the worker's memory", async (t) => {
  const spool = mkdtempSync(join(tmpdir(), 'cartage-spool-'))
  t.after(() => rmSync(spool, { recursive: true, force: true }))
  // The processes of the service run without root.
  chmodSync(spool, 0o777)
  const house = await setup(t, { isIsolated: true })
  const { user } = house
  const client = createClient({
    baseUrl: await startImportApi(t, house, spool),
    username: user.username,
    token: user.masterToken,
  })
  t.after(() => client.close())
  const worker = await startWorkerProcess(t, house, {
    CARTAGE_IMPORT_DIR: spool,
    NODE_OPTIONS: '--max-old-space-size=100',
  })
  await user.sql('create table t (n int not null, s text, the_geom geometry(Geometry,4326))')
  const feature = (s: string) => `{"type":"Feature","geometry":null,"properties":{"s":"${s}"}}`
  const file = `${Array.from({ length: 64 }, () => feature('x'.repeat(1_000_000))).join('\n')}\n`
  const { item_queue_id: id } = await client.imports.create(
    { file, filename: 't.geojsonl' },
    { collision_strategy: 'append', on_error: 'skip', rejects: 'all' },
  )
  let failed = await client.imports.read(id)
  while (failed.success === undefined) {
    assert.ok(worker.isAlive, 'the worker ran out of memory')
    failed = await client.imports.read(id, { waitSeconds: 2 })
  }
  assert.equal(failed.error_code, 2003)
  assert.match(failed.get_error_text!.what_about, /rejects=all lists up to 16 MB/)
})

test('upsert leaves out bad rows, and the last good row of a key wins', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(`create table t (k int primary key, v int check (v > 0));
    insert into t values (1, 1), (2, 2), (3, 3)`)
  const content = 'k,v\n1,10\n2,20\n2,-1\n4,40\n4,41\n,5\n3,-3\n'
  const done = await load('t.csv', content, { on_error: 'skip', collision_strategy: 'upsert', key: 'k' })
  assert.equal(done.get_error_text, null)
  assert.deepEqual(placesOf(done), [
    [4, 'v', '-1', '23514', '2,-1'],
    [7, 'k', null, '23502', ',5'],
    [8, 'v', '-3', '23514', '3,-3'],
  ])
  assert.deepEqual((await user.sql('select k, v from t order by k')).rows, [
    { k: 1, v: 10 },
    { k: 2, v: 20 },
    { k: 3, v: 3 },
    { k: 4, v: 41 },
  ])
})

test('more rows refused by the table than max_bad_rows fail the import, and nothing is added', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql('create table t (n int not null)')
  const content = 'n,m\n1,\n,a\n2,\nx,\n,b\n,c\n3,\n'
  const fields = { ...append, add_columns: 'true', max_bad_rows: '3' }
  const failed = await load('t.csv', content, fields)
  assert.deepEqual([failed.state, failed.error_code, failed.rejected_rows], ['failure', 2012, 3])
  assert.match(failed.get_error_text!.what_about, /max_bad_rows.*null value in column "n".*line 7/s)
  assert.deepEqual(
    failed.rejected?.map(({ line }) => line),
    [3, 5, 6],
  )
  assert.deepEqual((await user.sql('select * from t')).rows, [])
  const done = await load('t.csv', content, { ...fields, max_bad_rows: '4' })
  assert.deepEqual([done.get_error_text, done.rejected_rows, done.progress.rows], [null, 4, 3])
  const none = await load('t.csv', 'n,m\n,a\n,b\n', append)
  assert.deepEqual([none.state, none.error_code, none.rejected_rows], ['failure', 2001, 2])
})

test('in other kinds of files, features that the table refuses are left out by number', async (t) => {
  const { load, user } = await setupImports(t)
  await user.sql(`create table t (n int not null, s text check (s <> 'bad'), the_geom geometry(Point,4326))`)
  const feature = (n: unknown, s: string, type = 'Point') => ({
    type: 'Feature',
    properties: { n, s },
    geometry: {
      type,
      coordinates:
        type === 'Point'
          ? [1, 2]
          : [
              [1, 2],
              [3, 4],
            ],
    },
  })
  const features = [
    feature(1, 'a\tb'),
    feature(2, 'bad'),
    feature(null, 'c'),
    feature('four', 'd'),
    feature(5, 'e', 'LineString'),
    feature(6, 'f'),
  ]
  const all = { ...append, rejects: 'all' }
  const done = await load('t.geojson', JSON.stringify({ type: 'FeatureCollection', features }), all)
  assert.equal(done.get_error_text, null)
  assert.deepEqual(
    done.rejected?.map(({ line, column, value, sqlstate }) => [line, column, value, sqlstate]),
    [
      [2, 's', 'bad', '23514'],
      [3, 'n', null, '23502'],
      [4, 'n', 'four', '22P02'],
      [5, null, null, '22023'],
    ],
  )
  assert.equal(done.rejected![0]!.text.split('\t').slice(1).join(), '2,bad')
  assert.deepEqual(done.rejected_sections, [{ table: 't', rows: 4, columns: ['the_geom', 'n', 's'] }])
  assert.deepEqual((await user.sql('select n, s from t order by n')).rows, [
    { n: 1, s: 'a\tb' },
    { n: 6, s: 'f' },
  ])
})

test('a table that is created or overwritten has only the columns of the file', async (t) => {
  const { load, user } = await setupImports(t)
  const zip = zipOf([{ name: 't.csv', content: 'cartage_line,a\n1,x\n2,y\n' }])
  const columns = async () =>
    (
      await user.sql(
        `select attname::text as name from pg_attribute
         where attrelid = 't'::regclass and attnum > 0 and not attisdropped order by 1`,
      )
    ).rows.map(({ name }) => name)
  const expected = ['a', 'cartage_line', 'cartodb_id', 'the_geom', 'the_geom_webmercator']
  assert.equal((await load('t.zip', zip, append)).get_error_text, null)
  assert.deepEqual(await columns(), expected)
  await user.sql(`delete from t; alter table t add check (a <> 'y')`)
  const done = await load('t.zip', zip, { ...append, collision_strategy: 'overwrite' })
  assert.deepEqual([done.get_error_text, done.rejected_rows], [null, 1])
  assert.match(done.rejected![0]!.error, /^t\.csv: new row for relation "t" violates check constraint/)
  assert.deepEqual(await columns(), expected)
  assert.deepEqual((await user.sql('select a from t')).rows, [{ a: 'x' }])
})
