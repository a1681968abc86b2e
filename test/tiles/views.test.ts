import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient, roleOf } from '../support/keys/keys-client.ts'
import { setup, type TestUser } from '../support/service/setup.ts'
import { askTiles, lockTable, type TileCall, type TileReply, tileOf } from '../support/tiles/tile-api.ts'

const prepared = (name: string) =>
  `create table ${name} (name text, n int default 1, the_geom geometry(Point, 4326));
   insert into ${name} (name, the_geom) values ('a', st_point(1, 1, 4326)); select CDB_CartodbfyTable('${name}');`

const names = ({ layers }: TileReply) =>
  (Object.values(layers)[0] ?? []).map(({ properties }) => properties.name).toSorted()

/** Twice, so that the second may come from the cache. */
async function shown(user: TestUser, table: string, call: TileCall = {}): Promise<readonly unknown[]> {
  const first = names(await tileOf(user, `/${table}/0/0/0`, call))
  assert.deepEqual(names(await tileOf(user, `/${table}/0/0/0`, call)), first)
  return first
}

const storable: readonly (readonly [string, string])[] = [
  ['view', 'create view v as select cartodb_id, name, the_geom from t'],
  ['view over a view', 'create view w as select * from t; create view v as select name, the_geom from w'],
  [
    'view with functions and casts',
    `create view v as select upper(name) || n::text as name, st_buffer(the_geom, 1)::geometry(Polygon, 4326) as the_geom from t
     where n between 0 and 9 and name like '%' and st_intersects(the_geom, st_makeenvelope(0, 0, 50, 50, 4326))`,
  ],
  [
    'view that joins, groups and counts',
    `create view v as with c as (select n, count(*), string_agg(name, ',' order by name) as name from t group by n)
     select c.name, case when c.count > 1 then 'many' else coalesce(t.name, 'none') end as kind,
       row_number() over (partition by t.n order by t.name) as place, (select max(n) from t) as most, array[t.n] as ns, the_geom
     from t join c using (n) union all select name, 'x', 1, 1, null, the_geom from t where name is null`,
  ],
  ['view of the invoker', 'create view v with (security_invoker) as select name, the_geom from t'],
  [
    'view with an immutable function of the account',
    `create function loud(text) returns text immutable language sql as 'select upper($1)';
     create view v as select loud(name) as name, the_geom from t`,
  ],
  ['materialized view', 'create materialized view v as select name, the_geom, now() as made from t'],
]

test('a tile of a view over prepared tables is cached: 304 and 200 come without reading the tables', async (t) => {
  const house = await setup(t)
  for (const [kind, made] of storable) {
    const user = await house.createUser()
    await user.sql(`${prepared('t')} ${made}`)
    const first = await tileOf(user, '/v/0/0/0')
    const headers = { 'if-none-match': first.headers.get('etag')! }
    const free = await lockTable({ ...house, user }, 't')
    const signal = AbortSignal.timeout(5_000)
    const late = () => assert.fail(`${kind}: the tile is made again`)
    assert.equal((await askTiles(user, '/v/0/0/0', { headers, signal }).catch(late)).status, 304, kind)
    assert.deepEqual((await tileOf(user, '/v/0/0/0', { signal }).catch(late)).layers, first.layers, kind)
    await free()
  }
})

test('the next request after a commit sees the change through a view', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${prepared('t')} create function label(text) returns text immutable language sql as 'select $1';
    create function called(text) returns text immutable language sql as 'select label($1)';
    create view under as select label(called(name)) as name, the_geom from t; create view v as select * from under`)
  const tags = new Set<string>()
  const changes: readonly (readonly [string, readonly string[]])[] = [
    ['select 1', ['a']],
    [`insert into t (name, the_geom) values ('b', st_point(2, 2, 4326))`, ['a', 'b']],
    [`begin; truncate t; insert into t (name, the_geom) values ('c', st_point(2, 2, 4326)); commit`, ['c']],
    [
      `create or replace function label(text) returns text immutable language sql as 'select $1 || 1'`,
      ['c11'],
    ],
    [
      `create or replace function called(text) returns text immutable language sql as 'select $1 || 2'`,
      ['c21'],
    ],
    ['create or replace view under as select name, the_geom from t', ['c']],
    [`create or replace view v as select name || '!' as name, the_geom from under`, ['c!']],
    [
      `begin; alter table t disable trigger all; update t set name = 'd'; alter table t enable trigger all; commit`,
      ['d!'],
    ],
    [`alter table t rename name to old; alter table t add name text default 'e'`, ['d!']],
    [
      `create type kind as enum ('x'); alter table t add kind kind default 'x'; drop view v; create view v as select kind as name, the_geom from t`,
      ['x'],
    ],
    [`alter type kind rename value 'x' to 'y'`, ['y']],
  ]
  for (const [change, wanted] of changes) {
    await user.sql(change)
    assert.deepEqual(await shown(user, 'v'), wanted, change)
    tags.add((await tileOf(user, '/v/0/0/0')).headers.get('etag')!)
  }
  assert.equal(tags.size, changes.length)
})

test('a refreshed materialized view, also under a view, shows its new rows at once', async (t) => {
  const { user } = await setup(t)
  await user.sql(`${prepared('t')} create materialized view m as select name, the_geom from t;
    create unique index on m (name); create view v as select * from m`)
  for (const layer of ['m', 'v']) assert.deepEqual(await shown(user, layer), ['a'])
  await user.sql(`update t set name = 'b'`)
  for (const layer of ['m', 'v']) assert.deepEqual(await shown(user, layer), ['a'])
  await user.sql('refresh materialized view m')
  for (const layer of ['m', 'v']) assert.deepEqual(await shown(user, layer), ['b'])
  await user.sql(`update t set name = 'c'; refresh materialized view concurrently m`)
  for (const layer of ['m', 'v']) assert.deepEqual(await shown(user, layer), ['c'])
})

test('a view over a partitioned table changes with each of its partitions', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (cartodb_id serial, name text, the_geom geometry(Point, 4326), part int, primary key (cartodb_id, part)) partition by list (part);
    create table one partition of t for values in (1); select CDB_CartodbfyTable('t'); create view v as select name, the_geom from t`)
  const row = (name: string, part: number) =>
    `(name, the_geom, part) values ('${name}', st_point(1, 1, 4326), ${part})`
  await user.sql(`insert into t ${row('a', 1)}`)
  assert.deepEqual(await shown(user, 'v'), ['a'])
  await user.sql(`insert into one ${row('b', 1)}`)
  assert.deepEqual(await shown(user, 'v'), ['a', 'b'])
  await user.sql(
    `create table two (like t including all); insert into two ${row('c', 2)}; alter table t attach partition two for values in (2)`,
  )
  assert.deepEqual(await shown(user, 'v'), ['a', 'b', 'c'])
  await user.sql('delete from two')
  assert.deepEqual(await shown(user, 'v'), ['a', 'b'])
  await user.sql('drop table one')
  assert.deepEqual(await shown(user, 'v'), [])
})

/** Preparation, the view, and a change of its rows that its tables do not show. */
const untold: Readonly<Record<string, readonly [string, string, string]>> = {
  'the time': ['', `select extract(epoch from now())::text as name, the_geom from t`, 'select 1'],
  CURRENT_TIMESTAMP: ['', `select extract(epoch from current_timestamp) as name, the_geom from t`, ''],
  'a random number': ['', `select random() as name, the_geom from t`, ''],
  'a random sample': [
    `insert into t (name, the_geom) select md5(n::text), st_point(1, 1, 4326) from generate_series(1, 2000) n`,
    `select name, the_geom from t tablesample bernoulli (50)`,
    '',
  ],
  'a sequence': [
    'create sequence s; create function s_value() returns bigint stable language sql as $$ select last_value from s $$',
    `select s_value() as name, the_geom from t`,
    `select setval('s', 5)`,
  ],
  'a relation that is a sequence': [
    'create sequence s',
    `select last_value as name, the_geom from t, s`,
    `select setval('s', 7)`,
  ],
  'a table without the trigger for changes': [
    `create table other as select 'x' as name`,
    `select other.name, the_geom from t, other`,
    `update other set name = 'y'`,
  ],
  'a table whose trigger is disabled': [
    'alter table t disable trigger track_updates',
    `select name, the_geom from t`,
    `update t set name = 'y'`,
  ],
  'a function that calls itself immutable and reads a table': [
    `create table other as select 'x' as name;
     create function of_other() returns text immutable language sql as 'select name from other'`,
    `select of_other() as name, the_geom from t`,
    `update other set name = 'y'`,
  ],
  'an aggregate of a volatile function': [
    `create function next_one(float8, text) returns float8 volatile language sql as 'select random()';
     create aggregate jitter(text) (sfunc = next_one, stype = float8)`,
    `select jitter(name) as name, st_union(the_geom)::geometry(Point, 4326) as the_geom from t`,
    '',
  ],
  'an operator of a volatile function': [
    `create function noise(text, int) returns float8 volatile language sql as 'select random()';
     create operator @@@ (function = noise, leftarg = text, rightarg = int)`,
    `select name @@@ 1 as name, the_geom from t`,
    '',
  ],
  'the text of an enum': [
    `create type kind as enum ('x'); alter table t add kind kind default 'x'`,
    `select kind::text as name, the_geom from t`,
    `alter type kind rename value 'x' to 'y'`,
  ],
  'a system column': [
    '',
    `select xmax::text as name, the_geom from t`,
    'begin; select from t for update; commit',
  ],
  'a catalogue': [
    '',
    `select (select count(*) from pg_class) as name, the_geom from t`,
    'create table other ()',
  ],
  'a table under row security': [
    `alter table t enable row level security, force row level security; create table allowed as select 'a' as name;
     create policy p on t using (name in (select name from allowed))`,
    `select count(*) as name, st_point(1, 1, 4326) as the_geom from t`,
    `update allowed set name = 'b'`,
  ],
}

test('a tile of a view that depends on more than its tables is made each time', async (t) => {
  const house = await setup(t)
  for (const [what, [first, view, change]] of Object.entries(untold)) {
    const user = await house.createUser()
    await user.sql(`${prepared('t')} ${first}`)
    await user.sql(`create view v as ${view}; create view w as select * from v`)
    for (const layer of ['v', 'w']) await tileOf(user, `/${layer}/0/0/0`)
    const before = await Promise.all(
      ['v', 'w'].map(async (layer) => (await tileOf(user, `/${layer}/0/0/0`)).layers[layer]),
    )
    if (change) await user.sql(change)
    for (const [place, layer] of ['v', 'w'].entries())
      assert.notDeepEqual(
        (await tileOf(user, `/${layer}/0/0/0`)).layers[layer],
        before[place],
        `${what} ${layer}`,
      )
  }
})

test('a cached tile of a view is served only while its reader and its owner may read the rows', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(`${prepared('t')} create view v as select name, the_geom from t;
    create view mine with (security_invoker) as select name, the_geom from t; create view around as select * from mine;
    create function label(text) returns text immutable language sql as 'select $1';
    create view labelled as select label(name) as name, the_geom from t`)
  const layers = ['v', 'mine', 'around', 'labelled']
  const grants = grantsOf(Object.fromEntries([...layers, 't'].map((name) => [name, ['select']])))
  const { token } = await keysClient(user).make('reader', [{ type: 'apis', apis: ['maps'] }, grants[1]])
  const role = await roleOf(house, user, 'reader')
  const status = async (layer: string) => {
    const { headers } = await askTiles(user, `/${layer}/0/0/0`, { token })
    const known = { 'if-none-match': headers.get('etag') ?? '' }
    return (await askTiles(user, `/${layer}/0/0/0`, { token, headers: known })).status
  }
  const all = async () =>
    Object.fromEntries(await Promise.all(layers.map(async (layer) => [layer, await status(layer)])))
  assert.deepEqual(await all(), { v: 304, mine: 304, around: 304, labelled: 304 })
  await user.sql(`revoke select on t from "${role}"`)
  assert.deepEqual(await all(), { v: 304, mine: 403, around: 403, labelled: 304 })
  await user.sql(`grant select (name) on t to "${role}"`)
  assert.deepEqual(await all(), { v: 304, mine: 403, around: 403, labelled: 304 })
  await user.sql(`grant select (the_geom) on t to "${role}"`)
  assert.deepEqual(await all(), { v: 304, mine: 304, around: 304, labelled: 304 })
  await user.sql(`revoke execute on function label(text) from public`)
  assert.deepEqual(await all(), { v: 304, mine: 304, around: 304, labelled: 403 })
  await user.sql(`revoke select on v from "${role}"`)
  assert.deepEqual(await all(), { v: 404, mine: 304, around: 304, labelled: 403 })
  await user.sql(`grant select on v to "${role}"; revoke select on t from current_user;
    revoke select (name, the_geom) on t from "${role}"`)
  assert.deepEqual(await all(), { v: 403, mine: 403, around: 403, labelled: 403 })
})
