import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/service/setup.ts'
import { askTiles, tileOf } from '../support/tiles/tile-api.ts'

test('geometries of every kind and place give a tile of those that can be drawn', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table odd (n text, g geometry); insert into odd values
    ('null', null), ('empty', 'point empty'), ('empty collection', 'geometrycollection empty'),
    ('nan', st_point('nan', 'nan')), ('infinite', st_point('infinity', 1)),
    ('infinite line', st_makeline(st_point(0, 0), st_point('infinity', 0))),
    ('pole', 'point(0 90)'), ('over both poles', 'linestring(10 -90, 10 90)'), ('beyond', 'linestring(0 0, 0 1000, 1e9 5)'),
    ('bow tie', 'polygon((0 0, 10 10, 10 0, 0 10, 0 0))'), ('collection', 'geometrycollection(point(1 1), linestring(2 2, 30 30))'),
    ('curve', 'circularstring(0 0, 10 10, 20 0)'), ('high', 'point z (5 5 5)'), ('without srid', 'point(1 2)'),
    ('degrees', 'srid=4326;point(3 4)'), ('metres', 'srid=3857;point(500000 600000)'), ('utm', 'srid=32632;point(500000 5000000)')`)
  const { layers } = await tileOf(user, '/odd/0/0/0')
  assert.deepEqual(
    new Set(layers.odd!.map(({ properties }) => properties.n)),
    new Set([
      ...['over both poles', 'beyond', 'bow tie', 'collection', 'curve', 'high'],
      ...['without srid', 'degrees', 'metres', 'utm'],
    ]),
  )
  const at = (n: string) => layers.odd!.find(({ properties }) => properties.n === n)!.geometry[0]![0]!
  assert.deepEqual([at('utm').x, at('utm').y], [2150, 1471])
  assert.deepEqual([at('metres').x, at('metres').y], [2099, 1987])
  assert.equal(
    (await tileOf(user, '/odd/4/8/5')).layers.odd!.some(({ properties }) => properties.n === 'utm'),
    true,
  )
})

test('a tile at the edge of the world includes points on the edge', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table edge (g geometry(Point, 4326)); create index on edge using gist (g);
    insert into edge select st_setsrid(st_point(x, 0.5), 4326) from unnest('{-180,-179.9,179.9,180}'::float8[]) x`)
  assert.equal((await tileOf(user, '/edge/0/0/0')).layers.edge!.length, 4)
  assert.equal((await tileOf(user, '/edge/5/31/15')).layers.edge!.length, 2)
  assert.equal((await tileOf(user, '/edge/5/0/15')).layers.edge!.length, 2)
})

test('names of tables and columns stay names, whatever they contain', async (t) => {
  const { user } = await setup(t)
  for (const name of [
    `a"b`,
    `a'b`,
    `"; drop table x; --`,
    'a.b.c',
    'ü💥',
    '$1',
    'A b',
    'found',
    'where',
    '%s',
    '\\',
    '0',
  ]) {
    const quoted = `"${name.replaceAll('"', '""')}"`
    await user.sql(
      `create table ${quoted} (${quoted} text, geom geometry(Point, 3857)); insert into ${quoted} values ('x', st_point(0, 0, 3857))`,
    )
    const path = `/${encodeURIComponent(name)}/0/0/0`
    assert.deepEqual((await tileOf(user, path)).layers[name]![0]!.properties, { [name]: 'x' })
    if (!name.includes(',')) await tileOf(user, path, { query: { columns: name } })
  }
})

test('a view that raises, writes or names a forbidden table gives a clear error', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (n int, g geometry(Point, 3857)); insert into t values (1, st_point(0, 0, 3857));
    create function raises() returns int language plpgsql as $$ begin raise exception 'not today'; end $$;
    create function writes() returns int language plpgsql as $$ begin delete from t; return 1; end $$;
    create function sets() returns int language plpgsql as $$ begin
      perform set_config('search_path', 'pg_temp', false), set_config('statement_timeout', '0', false); return 1; end $$;
    create function cancels() returns int language plpgsql as $$ begin raise sqlstate '57014'; end $$;
    create view raising as select raises() as n, g from t; create view writing as select writes() as n, g from t;
    create view setting as select sets() as n, g from t; create view cancelling as select cancels() as n, g from t;
    create view wrong_srid as select n, st_setsrid(g, 999999) as g from t`)
  for (const [name, text] of [
    ['raising', /^not today$/],
    ['writing', /read-only transaction/],
    ['cancelling', /./],
    ['wrong_srid', /999999/],
  ] as const) {
    const { status, body } = await askTiles(user, `/${name}/0/0/0`)
    assert.deepEqual([status, body.code, body.errors_with_context[0]?.type], [400, 'database', 'layer'], name)
    assert.match(body.errors[0]!, text)
    assert.equal((await askTiles(user, `/${name}`)).status, 200, 'its TileJSON tells the world as bounds')
  }
  // No setting of a view stays on the connection.
  for (let n = 0; n < 3; n += 1)
    assert.equal((await tileOf(user, '/setting/0/0/0')).layers.setting!.length, 1)
  assert.equal((await tileOf(user, '/t/0/0/0')).layers.t!.length, 1)
})

test("objects of the tenant named like the service's are not used", async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (n int, g geometry(Point, 4326)); insert into t values (1, st_point(0, 0, 4326));
    create function public.st_transform(geometry, int) returns geometry language sql as $$ select null::geometry $$;
    create function public.st_simplify(geometry, float8, boolean) returns geometry language sql as $$ select null::geometry $$;
    create function public.count() returns int language sql as $$ select 0 $$;
    create function public.never(geometry, geometry) returns boolean language sql as $$ select false $$;
    create operator public.&& (leftarg = geometry, rightarg = geometry, function = public.never)`)
  assert.equal((await tileOf(user, '/t/0/0/0')).layers.t!.length, 1)
})
