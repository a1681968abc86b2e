import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertPrepared } from '../support/postgres/assert-prepared.ts'
import { column, openSession, refusal, rows, value } from '../support/postgres/tenant-session.ts'
import { setup } from '../support/service/setup.ts'

/**
 * Everything the service's functions call, created again by a tenant where its name would be found first, or equally
 * well.
 */
const traps = `
  create function public.st_transform(geometry, integer, boolean default true) returns geometry language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.st_transform(geometry, bigint) returns geometry language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.st_srid(geometry, variadic integer[]) returns integer language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.st_srid(geometry, integer default 1) returns integer language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.st_intersection(geometry, geometry) returns geometry language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.st_makeenvelope(integer, integer, integer, integer, integer) returns geometry language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.st_setsrid(geometry, bigint) returns geometry language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.postgis_typmod_srid(integer, integer default 1) returns integer language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.format(text, variadic name[]) returns text language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.lower(name) returns text language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.quote_ident(name) returns text language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.concat(text, text) returns text language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.has_table_privilege(name, oid, text) returns boolean language sql return true;
  create function public.cdb_username() returns text language sql return 'somebody';
  create function public.trap(name, text) returns boolean language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.trap(text, name) returns boolean language plpgsql as $$begin raise 'trapped'; end$$;
  create function public.trap(geometry, box2d) returns boolean language plpgsql as $$begin raise 'trapped'; end$$;
  create operator public.= (leftarg = name, rightarg = text, procedure = public.trap);
  create operator public.= (leftarg = text, rightarg = name, procedure = public.trap);
  create operator public.<> (leftarg = name, rightarg = text, procedure = public.trap);
  create operator public.@ (leftarg = geometry, rightarg = box2d, procedure = public.trap);
  create domain public.regclass as integer; create type public.aclitem as (a integer); create type public.jsonb as (a integer);
  create domain public.name as integer; create domain public.text as integer; create type public.record as (a integer);
  create table public.pg_class (oid integer); create table public.pg_attribute (attname integer); create table public.accounts (username integer)`

const temporaryTraps = `
  create temporary table pg_class (oid integer); create temporary table pg_attribute (attname integer);
  create temporary table pg_trigger (oid integer); create temporary table accounts (username integer);
  create temporary view account_relations as select 1 as relation; create domain pg_temp.regtype as integer;
  create function pg_temp.lower(name) returns text language plpgsql as $$begin raise 'trapped'; end$$;
  set search_path = pg_temp, public, cartodb, pg_catalog`

test("the service never calls or reads a tenant's object in public or pg_temp in place of its own", async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql(traps)
  const session = await openSession(t, context, user)
  await session.query(temporaryTraps)
  const ask = async (text: string) => Object.values((await session.query(text)).rows[0] ?? {})[0]
  await session.query(`create table public.t (wkt pg_catalog.text, cartodb_id pg_catalog.text);
    insert into public.t values ('SRID=25830;POINT(500000 4500000)', '7'); create view public.v as select wkt from public.t`)
  assert.equal(await ask(`select cartodb.CDB_CartodbfyTable('public.t'::pg_catalog.regclass)`), 't')
  await session.query(`insert into public.t (the_geom) values ('SRID=4326;POINT(1 1)'), ('SRID=4326;LINESTRING(0 0,0 90)'),
    ('SRID=4326;GEOMETRYCOLLECTION(POINT(0 0),POINT(0 90))'), ('SRID=4326;POINT(0 90)')`)
  await session.query(`update public.t set the_geom = 'SRID=4326;POINT(2 2)' where cartodb_id = 8`)
  assert.equal(await ask('select pg_catalog.count(the_geom_webmercator)::integer from public.t'), 4)
  assert.equal(await ask('select cartodb.CDB_Username()'), user.username)
  assert.ok(Number(await ask('select cartodb.CDB_UserDataSize()')) > 0)
  assert.equal(await ask(`select cartodb.CDB_UserTables('private')`), 'accounts')
  assert.equal(await ask(`select cartodb.CDB_ColumnType('public.t', 'the_geom')`), 'geometry')
  assert.equal(await ask(`select pg_catalog.count(*)::integer from cartodb.CDB_ColumnNames('public.t')`), 3)
  assert.deepEqual(await ask(`select cartodb.CDB_QueryTablesText('table public.t; select 1')`), ['public.t'])
  assert.equal(await ask(`select cartodb.CDB_TableMetadataTouch('public.t')`), '')
  assert.equal(await ask('select pg_catalog.count(*)::integer from cartodb.CDB_TableMetadata'), 1)
  assert.ok(await ask('select cartodb.CDB_LatLng(1, 2)'))
})

test('PostGIS overloads in public neither stop writes to prepared tables nor change an answer', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (name text); select CDB_CartodbfyTable('t');
    create function public.st_transform(geometry, integer, boolean default true) returns geometry language plpgsql as
      $$begin raise 'trapped'; end$$;
    create function public.st_asgeojson(geometry, integer) returns text language plpgsql as $$begin raise 'trapped'; end$$`)
  await user.sql(`insert into t (the_geom) values ('SRID=4326;POINT(1 1)')`)
  await assertPrepared(user, 't')
  const answer = await fetch(
    `${user.base}/api/v2/sql?q=select+*+from+t&format=geojson&api_key=${user.masterToken}`,
  )
  assert.deepEqual([answer.status, JSON.parse(await answer.text()).features.length], [200, 1])
})

test('no tenant can create anything in the schemas of PostGIS and of the service', async (t) => {
  const { user, createOrganization } = await setup(t)
  const { owner } = await createOrganization()
  for (const tenant of [user, owner]) {
    for (const schema of ['postgis', 'cartodb', 'cartage', 'pg_catalog']) {
      for (const text of [
        `create function ${schema}.f() returns int language sql return 1`,
        `create table ${schema}.t ()`,
        `create operator ${schema}.= (leftarg = regclass, rightarg = oid, function = pg_catalog.oideq)`,
        `alter schema ${schema} rename to x`,
        `create schema if not exists x; alter table x.y set schema ${schema}`,
      ]) {
        assert.match((await refusal(tenant, text)) ?? '', /^(42501|42P01|42939)/, `${schema}: ${text}`)
      }
    }
  }
})

test('session settings change nothing', async (t) => {
  const { user } = await setup(t)
  const settings = `set standard_conforming_strings = off; set backslash_quote = on; set transform_null_equals = on;
    set datestyle = 'SQL, DMY'; set intervalstyle = iso_8601; set bytea_output = escape; set extra_float_digits = -15;
    set quote_all_identifiers = on; set array_nulls = off; set search_path = '';`
  const name = `"b\\s'; --"`
  await user.sql(`create table ${name} (wkt text, kind text default E'\\'x', cartodb_id float8);
    insert into ${name} values ('POINT(1 2)', 'a', 3); create view v as select wkt, E'\\'' || '\\' as quoted from ${name}`)
  await user.sql(`${settings} select cartodb.CDB_CartodbfyTable(E'public."b\\\\s\\'; --"')`)
  assert.deepEqual(await rows(user, `select ST_AsText(wkt) as wkt, quoted from v`), [
    { wkt: 'POINT(1 2)', quoted: `'\\` },
  ])
  await assertPrepared(user, name)
})

test("the service's trigger functions on a tenant's table do nothing the tenant could not do", async (t) => {
  const { user, createUser, createOrganization } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await owner.sql(`create table t (name text); select CDB_CartodbfyTable('t')`)
  const before = await value(owner, 'select updated_at::text from CDB_TableMetadata')
  await member.sql(`create table bait (id int, the_geom geometry, the_geom_webmercator geometry);
    create trigger a after insert on bait execute function cartodb.CDB_TableMetadata_Trigger('t', '${owner.username}');
    create trigger b after insert on bait execute function cartodb.CDB_CheckQuota('1', '1', '${owner.username}');
    insert into bait default values`)
  assert.equal(await value(owner, 'select updated_at::text from CDB_TableMetadata'), before)
  assert.deepEqual(await column(member, 'select tabname::text from CDB_TableMetadata'), ['bait'])
  assert.match(
    (await refusal(user, 'select cartodb.CDB_CheckQuota()')) ?? '',
    /^0A000: trigger functions can only be called as triggers/,
  )
})

test("helpers with the operator's rights reveal nothing about other users' tables", async (t) => {
  const { createUser, createOrganization, admin } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await owner.sql(
    `create table t (name text); select CDB_CartodbfyTable('t'); insert into t (name) values ('a')`,
  )
  const oid = await value(owner, `select 't'::regclass::oid`)
  await admin('select cartodb.CDB_SetUserQuotaInBytes($1, 1)', [owner.username], owner.account.database)
  assert.equal(await refusal(member, `select cartodb._CDB_CheckQuotaOf(${oid})`), undefined)
  assert.match((await refusal(owner, `select cartodb._CDB_CheckQuotaOf(${oid})`)) ?? '', /^QUOTA/)
})
