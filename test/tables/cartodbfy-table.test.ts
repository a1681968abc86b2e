import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobSession } from '../support/jobs/job-session.ts'
import { assertPrepared } from '../support/postgres/assert-prepared.ts'
import { column, refusal, rows, value } from '../support/postgres/tenant-session.ts'
import { setup } from '../support/service/setup.ts'

test('CDB_CartodbfyTable adds all columns that a table lacks', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (name text); insert into t select generate_series(1, 5)`)
  assert.equal(await value(user, `select CDB_CartodbfyTable('t')`), 't')
  assert.deepEqual(await column(user, 'select cartodb_id from t order by 1'), [1, 2, 3, 4, 5])
  assert.equal(await value(user, 'insert into t default values returning cartodb_id'), 6)
  await assertPrepared(user, 't')
})

test('CDB_CartodbfyTable returns the table as regclass, and null for null', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (name text)')
  assert.equal(await value(user, `select pg_typeof(CDB_CartodbfyTable('t'))::text`), 'regclass')
  assert.equal(await value(user, 'select CDB_CartodbfyTable(null)'), null)
})

test('a second run changes nothing and takes no lock that blocks readers', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await user.sql(`create table t (geom geometry(Point, 4326)); insert into t values ('SRID=4326;POINT(1 1)');
    select CDB_CartodbfyTable('t')`)
  const state = `select (select relfilenode from pg_class where oid = 't'::regclass) as file,
    (select array_agg(oid::text order by oid) from pg_trigger where tgrelid = 't'::regclass) as triggers,
    (select array_agg(indexrelid::text order by indexrelid) from pg_index where indrelid = 't'::regclass) as indexes,
    (select updated_at::text from CDB_TableMetadata) as updated`
  const before = await rows(user, state)
  const again = await jobSession(t, context, user, { searchPath: 'public, cartodb, postgis' })
  await again.query(`begin; select CDB_CartodbfyTable('t')`)
  const held = `select mode from pg_locks where relation = 'public.t'::regclass`
  assert.deepEqual((await admin(held, [], user.account.database)).rows, [{ mode: 'AccessShareLock' }])
  await again.query('commit')
  assert.deepEqual(await rows(user, state), before)
})

test('another run restores a dropped trigger or index and a disabled trigger', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (name text); select CDB_CartodbfyTable('t'); drop trigger track_updates on t;
    alter table t disable trigger update_the_geom_webmercator_trigger; drop index t_the_geom_idx;
    insert into t (the_geom) values (CDB_LatLng(1, 1))`)
  await user.sql(`select CDB_CartodbfyTable('t')`)
  await assertPrepared(user, 't')
})

test('a sequence that has fallen behind the ids catches up', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `create table t (name text); select CDB_CartodbfyTable('t'); insert into t (cartodb_id) values (50)`,
  )
  await user.sql(`select CDB_CartodbfyTable('t')`)
  assert.equal(await value(user, 'insert into t default values returning cartodb_id'), 51)
})

const keys: readonly (readonly [string, string, readonly unknown[]])[] = [
  ['an integer cartodb_id', 'cartodb_id int) as values (3), (7', [3, 7, 8]],
  ['a serial', 'cartodb_id serial primary key', [1]],
  ['a bigint', 'cartodb_id bigint) as values (3000000000', ['3000000000', '3000000001']],
  ['a smallint', 'cartodb_id smallint) as values (30000', [30000, 30001]],
  ['an identity', 'cartodb_id int generated always as identity', [1]],
  ['text', `cartodb_id text) as values ('3'), (' 7 '), ('+9'), ('11.0'`, [3, 7, 9, 11, 12]],
  ['long text', `cartodb_id varchar(20)) as values ('3000000000'`, ['3000000000', '3000000001']],
  ['numbers with decimals that are all zero', 'cartodb_id numeric(12, 2)) as values (3.00), (7', [3, 7, 8]],
  ['floating point', 'cartodb_id float8) as values (3), (1e6', [3, 1_000_000, 1_000_001]],
  ['negative ids', 'cartodb_id int) as values (-5', [-5, 1]],
  ['upper case', '"CARTODB_ID" int) as values (3', [3, 4]],
  ['a primary key of another name', 'gid serial primary key', [1]],
  ['a bigint primary key', '"The Key" bigint primary key', ['1']],
  ['a default that is no sequence', 'cartodb_id int default 0', [1]],
]

test('an existing cartodb_id is found, renamed or converted', async (t) => {
  const { user } = await setup(t)
  for (const [index, [what, definition, ids]] of keys.entries()) {
    await t.test(what, async () => {
      const [columns, values] = definition.split(') as ')
      await user.sql(`create table k${index} (${columns}, name text)`)
      if (values) await user.sql(`insert into k${index} ${values})`)
      await user.sql(`select CDB_CartodbfyTable('k${index}')`)
      await user.sql(`insert into k${index} (name) values ('next')`)
      assert.deepEqual(
        await column(user, `select cartodb_id from k${index} order by name desc nulls first, cartodb_id`),
        ids,
      )
      await assertPrepared(user, `k${index}`)
    })
  }
})

const badKeys: readonly (readonly [string, string, string, string])[] = [
  [
    'ids that are not unique',
    'int',
    '(1), (1)',
    '23505: cartodb_id of table public.t must be unique, but some rows have the same',
  ],
  [
    'ids that are null',
    'int',
    '(1), (null)',
    '23502: cartodb_id of table public.t must not be null, but in some rows it is',
  ],
  [
    'text that is null',
    'text',
    `('1'), (null)`,
    '23502: cartodb_id of table public.t must not be null, but in some rows it is',
  ],
  [
    'text that is no number',
    'text',
    `('1'), ('it''s')`,
    `22P02: cartodb_id of table public.t must be an integer, but one is 'it''s'`,
  ],
  [
    'text that is the same number',
    'text',
    `('1'), ('01')`,
    '23505: cartodb_id of table public.t must be unique, but some rows have the same',
  ],
  [
    'fractions',
    'numeric',
    '(1.5)',
    `22P02: cartodb_id of table public.t must be an integer, but one is '1.5'`,
  ],
  ['NaN', 'float8', `('NaN')`, `22P02: cartodb_id of table public.t must be an integer, but one is 'NaN'`],
  [
    'another type',
    'uuid',
    '(null)',
    '22P02: cartodb_id of table public.t must be an integer, but its type is uuid',
  ],
]

test('bad ids give an error that says so, and the table stays as it was', async (t) => {
  const { user } = await setup(t)
  for (const [what, type, values, expected] of badKeys) {
    await t.test(what, async () => {
      await user.sql(
        `drop table if exists t; create table t (cartodb_id ${type}, geom geometry); insert into t (cartodb_id) values ${values}`,
      )
      assert.equal(await refusal(user, `select CDB_CartodbfyTable('t')`), expected)
      assert.deepEqual(await column(user, `select CDB_ColumnNames('t')`), ['cartodb_id', 'geom'])
    })
  }
})

const point = 'SRID=4326;POINT(1 2)'
const hex = '0101000020E6100000000000000000F03F0000000000000040'
const geometries: readonly (readonly [string, string, string])[] = [
  ['the_geom', 'the_geom geometry', `'${point}'`],
  ['the_geom of one type', 'the_geom geometry(Point, 4326)', `'${point}'`],
  ['the_geom in three dimensions', 'the_geom geometry(PointZM, 4326)', `'SRID=4326;POINT ZM (1 2 3 4)'`],
  ['geom', 'geom geometry(Geometry, 4326)', `'${point}'`],
  ['wkb_geometry', 'wkb_geometry geometry', `'${point}'`],
  ['any name', '"Where, exactly?" geometry', `'${point}'`],
  ['upper case', '"THE_GEOM" geometry', `'${point}'`],
  ['no SRID', 'geom geometry(Point)', `'POINT(1 2)'`],
  ['another SRID', 'geom geometry(Point, 3395)', `ST_Transform('${point}'::geometry, 3395)`],
  [
    'web mercator alone',
    'the_geom_webmercator geometry(Point, 3857)',
    `ST_Transform('${point}'::geometry, 3857)`,
  ],
  ['geography', 'place geography(Point)', `'${point}'`],
  ['WKT', 'wkt text', `'POINT(1 2)'`],
  ['WKT in the_geom', 'the_geom text', `' POINT(1 2) '`],
  ['EWKT', 'geom varchar(100)', `'${point}'`],
  ['hexadecimal EWKB', 'wkb_geometry text', `'${hex}'`],
  ['binary EWKB', 'wkb_geometry bytea', `'\\x${hex}'`],
  ['GeoJSON', 'geojson text', `'{"type":"Point","coordinates":[1,2]}'`],
]

test('an existing geometry is found, renamed, cast or transformed to the_geom', async (t) => {
  const { user } = await setup(t)
  for (const [index, [what, definition, geometry]] of geometries.entries()) {
    await t.test(what, async () => {
      const table = `g${index}`
      await user.sql(`create table ${table} (${definition}); insert into ${table} values (${geometry}), (null);
        select CDB_CartodbfyTable('${table}')`)
      assert.deepEqual(
        await column(
          user,
          `select ST_AsEWKT(ST_SnapToGrid(the_geom, 0.000001)) from ${table} order by cartodb_id`,
        ),
        [point, null],
      )
      assert.equal(await value(user, `select count(*)::int from CDB_ColumnNames('${table}')`), 3)
      await assertPrepared(user, table)
    })
  }
})

test('a column may mix SRIDs and blanks', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (wkt text); insert into t values ('POINT(1 2)'), ('SRID=25830;POINT(500000 4500000)'), (''),
    ('  '), ('SRID=3857;POINT(0 0)'); select CDB_CartodbfyTable('t')`)
  assert.deepEqual(
    await column(user, 'select ST_AsText(ST_SnapToGrid(the_geom, 0.001)) from t order by cartodb_id'),
    ['POINT(1 2)', 'POINT(-3 40.651)', null, null, 'POINT(0 0)'],
  )
})

test('a column named like a geometry with other content is left alone', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (geometry text, shape int, wkt text); insert into t values ('triangle', 3, 'POINT(1 2)');
    select CDB_CartodbfyTable('t')`)
  assert.deepEqual(await rows(user, 'select geometry, shape, ST_AsEWKT(the_geom) as geom from t'), [
    { geometry: 'triangle', shape: 3, geom: point },
  ])
})

test('a web mercator column of another name is used, and wrong values in it are corrected', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (geom geometry(Point, 4326), flat geometry(Point, 3857));
    insert into t values ('${point}', 'SRID=3857;POINT(0 0)'); select CDB_CartodbfyTable('t');
    create table both_ (cartodb_id serial primary key, the_geom geometry(Geometry, 4326),
      the_geom_webmercator geometry(Geometry, 3857)); insert into both_ (the_geom) values ('${point}');
    select CDB_CartodbfyTable('both_')`)
  assert.deepEqual(await column(user, `select CDB_ColumnNames('t')`), [
    'the_geom',
    'the_geom_webmercator',
    'cartodb_id',
  ])
  await assertPrepared(user, 't')
  await assertPrepared(user, 'both_')
})

test('a column that cannot become a geometry gives an error that says so', async (t) => {
  const { user } = await setup(t)
  const refused = async (definition: string, geometry: string) => {
    await user.sql(
      `drop table if exists t; create table t (${definition}); insert into t values ('POINT(1 2)'), (${geometry})`,
    )
    return refusal(user, `select CDB_CartodbfyTable('t')`)
  }
  assert.match(
    (await refused('wkt text', `'POINT(1'`)) ?? '',
    /^22000: the_geom of table public.t cannot become a geometry/,
  )
  assert.match((await refused('geom geometry', `'SRID=99999;POINT(1 2)'`)) ?? '', /SRID/)
  await user.sql('drop table t; create table t (the_geom int)')
  assert.equal(
    await refusal(user, `select CDB_CartodbfyTable('t')`),
    '42804: the_geom of table public.t cannot become a geometry: its type is integer',
  )
})

test('names of tables and columns may contain anything', async (t) => {
  const { user } = await setup(t)
  const names = [
    `UPPER`,
    `with.dot`,
    `with"quote`,
    `with'quote`,
    `with space`,
    `ünïcode ☃`,
    `select`,
    `$$; drop table t; --`,
    `%I %s %L`,
    `b\\s`,
    'x'.repeat(63),
    'ü'.repeat(31),
  ]
  for (const name of names) {
    const quoted = `"${name.replaceAll('"', '""')}"`
    await user.sql(`create table ${quoted} (${quoted} geometry, other text); create index on ${quoted} (other);
      insert into ${quoted} values ('${point}')`)
    await user.sql('select CDB_CartodbfyTable($1)', [quoted])
    await assertPrepared(user, quoted)
  }
})

test('hundreds of thousands of rows are cartodbfied in seconds', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `create table t as select n, CDB_LatLng(n % 80, n % 180) as geom from generate_series(1, 250000) n`,
  )
  const began = Date.now()
  await user.sql(`select CDB_CartodbfyTable('t')`)
  const seconds = (Date.now() - began) / 1000
  t.diagnostic(`${seconds} s`)
  assert.ok(seconds < 25, `${seconds} s`)
})

const unfit: readonly (readonly [string, string, string])[] = [
  ['a view', 'create view x as select 1', '42809'],
  ['a materialized view', 'create materialized view x as select 1', '42809'],
  ['a temporary table', 'create temporary table x (id int)', '42809'],
  [
    'a partition',
    'create table p (id int) partition by list (id); create table x partition of p default',
    '42809',
  ],
  ['a sequence', 'create sequence x', '42809'],
]

test('anything but an own table is refused', async (t) => {
  for (const [what, create, code] of unfit) {
    await t.test(what, async (t) => {
      const { user } = await setup(t)
      assert.match(
        (await refusal(user, `${create}; select CDB_CartodbfyTable('x')`)) ?? '',
        new RegExp(`^${code}`),
      )
    })
  }
})
