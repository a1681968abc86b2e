import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertPrepared } from '../support/postgres/assert-prepared.ts'
import { column, makeKey, refusal, rows, value } from '../support/postgres/tenant-session.ts'
import { setup } from '../support/service/setup.ts'

test('CDB_CartodbfyTable keeps owner, grants, constraints, defaults, comments, indexes, statistics and storage', async (t) => {
  const context = await setup(t)
  const { user } = context
  const { publicRole } = user.account
  await user.sql(`create table parent (id int primary key); create table t (
      wkt text, kind text not null default 'x' check (kind <> ''), parent int references parent on delete cascade, tall int,
      constraint talls unique (tall)) with (fillfactor = 70);
    insert into parent values (1); insert into t values ('POINT(1 2)', 'a', 1, 5);
    create index kinds on t (lower(kind)) where tall > 0; create statistics guess on kind, tall from t;
    comment on table t is 'the table'; comment on column t.wkt is 'the shape'; comment on index kinds is 'the index';
    grant select on t to "${publicRole}"; grant update (kind) on t to "${publicRole}"`)
  const key = await makeKey(context, user, [], { t: ['insert', 'select', 'delete'] })
  const state = `select relowner::regrole, relacl, reloptions, obj_description(oid, 'pg_class') as comment,
      (select array_agg(conname || ' ' || pg_get_constraintdef(c.oid) order by conname) from pg_constraint c
       where conrelid = t.oid and contype not in ('p', 'n')) as constraints,
      (select array_agg(indexdef order by indexdef) from pg_indexes where tablename = 't' and indexname !~ 'geom|pkey') as indexes,
      (select array_agg(stxname) from pg_statistic_ext where stxrelid = t.oid) as statistics,
      (select obj_description('kinds'::regclass, 'pg_class')) as index_comment,
      (select array_agg(a.attacl::text) from pg_attribute a where attrelid = t.oid and attname = 'kind') as column_grants,
      (select array_agg(pg_get_expr(adbin, adrelid)) from pg_attrdef join pg_attribute on attnum = adnum and attrelid = adrelid
       where adrelid = t.oid and attname = 'kind') as defaults,
      (select array_agg(attname::text order by attnum) from pg_attribute
       where attrelid = t.oid and attname in ('kind', 'parent', 'tall') and attnotnull) as not_null
    from pg_class t where oid = 't'::regclass`
  const before = await rows(user, state)
  await user.sql(`select CDB_CartodbfyTable('t')`)
  await assertPrepared(user, 't')
  assert.deepEqual(await rows(user, state), before)
  assert.equal(
    await value(
      user,
      `select col_description('t'::regclass, attnum) from pg_attribute where attrelid = 't'::regclass and attname = 'the_geom'`,
    ),
    'the shape',
  )
  await user.sql(`insert into t (kind, the_geom) values ('b', CDB_LatLng(1, 1))`, undefined, key)
  assert.match((await refusal(user, `insert into t (parent) values (2)`)) ?? '', /^23503/)
})

test('views, views on views and materialized views are recreated unchanged', async (t) => {
  const context = await setup(t)
  const { user } = context
  const { publicRole } = user.account
  const key = await makeKey(context, user, ['public'])
  await user.sql(`create table t (name text, wkt text, cartodb_id text); insert into t values ('a', 'POINT(1 2)', '7');
    create table log (name text); grant select on t to "${key}";
    create view one with (security_barrier) as select name, wkt as shape, cartodb_id from t where name <> '';
    create view two as select one.shape, t.name from one join t using (name)`)
  await user.sql(`create view keys as select wkt from t`, undefined, key)
  await user.sql(`create materialized view three as select shape, count(*) from two group by shape;
    create unique index threes on three (shape);
    create materialized view four as select * from one with no data;
    create view apart as select name from t;
    alter view one alter column name set default 'new';
    create rule logged as on delete to one do instead insert into log values (old.name);
    create function noted() returns trigger language plpgsql as $$begin insert into log values (new.name); return new; end$$;
    create trigger notes instead of insert on one for each row execute function noted();
    comment on view one is 'first'; comment on column one.shape is 'the shape'; comment on materialized view three is 'third';
    grant select on one to "${publicRole}" with grant option; grant update (name) on two to "${key}";
    grant select on three to "${key}"; revoke all on four from current_user`)
  const state = `select c.oid::regclass::text as view, relkind, relowner::regrole::text as owner, relacl::text, reloptions, relispopulated,
      obj_description(c.oid, 'pg_class') as comment,
      (select array_agg(attname || coalesce(attacl::text, '') || coalesce(col_description(c.oid, attnum), '')
          || coalesce((select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = c.oid and adnum = attnum), '')
         order by attnum) from pg_attribute where attrelid = c.oid and attnum > 0) as columns,
      (select array_agg(indexdef) from pg_indexes where tablename = relname) as indexes,
      (select array_agg(pg_get_triggerdef(pg_trigger.oid)) from pg_trigger where tgrelid = c.oid) as triggers,
      (select array_agg(pg_get_ruledef(pg_rewrite.oid)) from pg_rewrite where ev_class = c.oid and rulename <> '_RETURN') as rules
    from pg_class c where relkind in ('v', 'm') and relnamespace = 'public'::regnamespace and relname !~ '^(geo|raster)'
    order by 1`
  const before = await rows(user, state)
  const untouched = await value(user, `select 'apart'::regclass::oid`)
  assert.equal(before.length, 6)
  await user.sql(`select CDB_CartodbfyTable('t')`)
  await assertPrepared(user, 't')
  assert.deepEqual(await rows(user, state), before)
  assert.equal(await value(user, `select 'apart'::regclass::oid`), untouched)
  assert.deepEqual(await rows(user, 'select ST_AsText(shape) as shape, count::int from three'), [
    { shape: 'POINT(1 2)', count: 1 },
  ])
  assert.equal(await value(user, `insert into one (cartodb_id) values (8); select name from log`), 'new')
})

test('a view that needs no change is not touched', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    `create table t (name text, the_geom geometry(Geometry, 4326)); create view v as select * from t`,
  )
  const before = await value(user, `select 'v'::regclass::oid`)
  await user.sql(`select CDB_CartodbfyTable('t')`)
  assert.equal(await value(user, `select 'v'::regclass::oid`), before)
})

test("another user's view on the table is neither broken nor dropped: the error names it", async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await owner.sql(`create table t (wkt text); insert into t values ('POINT(1 2)');
    grant usage on schema "${owner.username}" to "${member.account.masterRole}"; grant select on t to "${member.account.masterRole}"`)
  await member.sql(`create view theirs as select wkt from "${owner.username}".t`)
  const message = await refusal(owner, `select CDB_CartodbfyTable('t')`)
  assert.match(message ?? '', /^2BP01: view .*theirs uses table .*t and belongs to another user$/)
  assert.deepEqual(await column(member, 'select wkt from theirs'), ['POINT(1 2)'])
})

test("the user's own triggers and policies are kept", async (t) => {
  const { user } = await setup(t)
  const { publicRole } = user.account
  await user.sql(`create table t (name text, the_geom geometry(Point, 4326)); insert into t values ('a', 'SRID=4326;POINT(1 2)');
    create function f() returns trigger language plpgsql as $$begin new.name := 'seen'; return new; end$$;
    create trigger a before update of the_geom on t for each row when (new.the_geom is not null) execute function f();
    create trigger b before insert on t for each row when (ST_X(new.the_geom) > 0) execute function f();
    alter table t disable trigger b; comment on trigger b on t is 'about b';
    alter table t enable row level security;
    create policy p on t as restrictive for update to "${publicRole}" using (ST_X(the_geom) > 0) with check (ST_Y(the_geom) > 0);
    comment on policy p on t is 'about p'`)
  const state = `select (select array_agg(array[pg_get_triggerdef(oid), tgenabled::text, obj_description(oid, 'pg_trigger')] order by tgname)
      from pg_trigger where tgrelid = 't'::regclass and tgname in ('a', 'b')) as triggers,
    (select array_agg(policies::text) from pg_policies policies where tablename = 't') as policies,
    (select obj_description(oid, 'pg_policy') from pg_policy) as about`
  const before = await rows(user, state)
  await user.sql(`select CDB_CartodbfyTable('t')`)
  await assertPrepared(user, 't')
  assert.deepEqual(await rows(user, state), before)
  assert.equal(await value(user, 'update t set the_geom = CDB_LatLng(3, 3) returning name'), 'seen')
})

test('another primary key becomes a unique constraint, and foreign keys to it stay', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (code text primary key); insert into t values ('a');
    create table child (code text constraint known references t on update cascade); insert into child values ('a');
    select CDB_CartodbfyTable('t')`)
  await assertPrepared(user, 't')
  await user.sql(`update t set code = 'b'`)
  assert.deepEqual(await column(user, 'select code from child'), ['b'])
  assert.match((await refusal(user, `insert into child values ('z')`)) ?? '', /^23503.*known/)
  assert.match((await refusal(user, `insert into t (code) values ('b')`)) ?? '', /^23505/)
  assert.match((await refusal(user, `insert into t (code) values (null)`)) ?? '', /^23502/)
})

test('a partitioned table is cartodbfied with all its partitions', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (id int, day date, geom geometry, primary key (id, day)) partition by range (day);
    create table t20 partition of t for values from ('2020-01-01') to ('2021-01-01');
    create table t21 partition of t for values from ('2021-01-01') to ('2022-01-01') partition by list (id);
    create table t21a partition of t21 default;
    insert into t values (1, '2020-05-05', 'POINT(1 2)'), (2, '2021-05-05', 'SRID=3857;POINT(1 2)');
    create view v as select geom from t; create view v20 as select geom from t20;
    select CDB_CartodbfyTable('t')`)
  assert.deepEqual(
    await column(user, `select CDB_ColumnNames('t21a')`),
    await column(user, `select CDB_ColumnNames('t')`),
  )
  assert.deepEqual(
    await column(user, 'select count(geom)::int from v union all select count(geom)::int from v20'),
    [2, 1],
  )
  const before = await value(user, 'select updated_at::text from CDB_TableMetadata')
  await user.sql(`insert into t21a (cartodb_id, day, the_geom) values (9, '2021-01-01', CDB_LatLng(1, 1))`)
  assert.equal(await value(user, 'select count(*)::int from t where the_geom_webmercator is null'), 0)
  assert.deepEqual(
    await rows(
      user,
      `select tabname::text, updated_at::text > '${before}' as is_newer from CDB_TableMetadata`,
    ),
    [{ tabname: 't', is_newer: true }],
  )
  const state = `select array_agg(oid::text order by oid) from pg_trigger`
  const triggers = await value(user, state)
  await user.sql(`select CDB_CartodbfyTable('t')`)
  assert.deepEqual(await value(user, state), triggers)
  assert.equal(await value(user, `insert into t (day) values ('2020-02-02') returning cartodb_id`), 10)
})

test('a partitioned table without a key gets one that includes the partition key', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (day date) partition by range (day); create table rest partition of t default;
    insert into t values (now()), (now()); select CDB_CartodbfyTable('t')`)
  assert.deepEqual(await column(user, 'select cartodb_id from rest order by 1'), [1, 2])
  assert.equal(
    await value(
      user,
      `select pg_get_constraintdef(oid) from pg_constraint where conrelid = 't'::regclass and contype = 'p'`,
    ),
    'PRIMARY KEY (cartodb_id, day)',
  )
})
