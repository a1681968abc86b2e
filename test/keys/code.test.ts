import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient, refusal, roleOf } from '../support/keys/keys-client.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

const denied = '42501'

async function creator(t: Parameters<typeof setup>[0]) {
  const context = await setup(t)
  await keysClient(context.user).make('maker', grantsOf({}, ['public']))
  return { context, user: context.user, role: await roleOf(context, context.user, 'maker') }
}

/** SQLSTATE and text of a refusal. */
async function told(user: TestUser, role: string, text: string): Promise<string> {
  return user.sql(text, undefined, role).then(
    () => 'nothing',
    ({ code, message }) => `${code}: ${message}`,
  )
}

test('a key with `create` creates data of every kind', async (t) => {
  const { user, role } = await creator(t)
  await user.sql(
    `create table a (id serial primary key, v text default 'x' check (v <> ''), at timestamptz default now(),
       made timestamptz default clock_timestamp(), token uuid default gen_random_uuid(), place geometry(Point, 4326),
       twice int generated always as (length(v) * 2) stored, number int generated always as identity);
     create table b as select * from a; select * into c from a;
     create table d (like a including all);
     create table e (a_id int references a on delete cascade, during tsrange, exclude using gist (during with &&));
     create table f (id int, region text) partition by list (region); create table f1 partition of f for values in ('x');
     create sequence counter; create index on a (lower(v)) where v is not null; create unique index on b (id);
     create view seen as select v, ST_AsText(place) as place, row_number() over (order by v) from a;
     create materialized view kept as select count(*), string_agg(v, ',') from a; create index on kept (count);
     refresh materialized view kept; create or replace view seen as select v, ST_AsText(place) as place, row_number() over (order by v) from a;
     comment on table a is 'mine'; comment on column a.v is 'value';
     alter table a add column more int default 7, rename to aa; alter table aa alter column v set default 'y';
     alter table aa add constraint positive check (more > 0), alter column more type bigint using more * 2;
     alter table aa rename constraint positive to above; alter index b_id_idx rename to b_ids; alter view seen rename to sight;
     alter sequence counter increment 2; grant select on aa to "${user.account.publicRole}"; revoke select on aa from "${user.account.publicRole}";
     create temp table scratch (id int); drop view sight; drop table c; drop materialized view kept`.replace(
      'add column more int default 7, rename to aa;',
      'add column more int default 7; alter table a rename to aa;',
    ),
    [],
    role,
  )
  await user.sql(`select CDB_CartodbfyTable('aa'); insert into aa (v) values ('z')`, [], role)
})

const codeBearing = [
  'create function f() returns int language sql return 1',
  'create function pg_temp.f() returns int language sql return 1',
  'create or replace function helper() returns int language sql return 1',
  'create procedure p() language sql as $$ select 1 $$',
  'create aggregate total (int) (sfunc = int4pl, stype = int)',
  'create operator public.= (leftarg = regclass, rightarg = oid, function = oideq)',
  'create operator class c for type int using btree as operator 1 <',
  'create operator family f using btree',
  'create cast (text as uuid) without function',
  "create type mood as enum ('ok')",
  'create type pair as (a int, b int)',
  'create type span as range (subtype = int)',
  'create type shell',
  'create domain small as int check (value < 10)',
  'create collation c from "C"',
  "create conversion c for 'UTF8' to 'LATIN1' from utf8_to_iso8859_1",
  'create trigger t before insert on own for each row execute function helper_trigger()',
  'create trigger t before insert on own for each row execute function suppress_redundant_updates_trigger()',
  'create constraint trigger t after insert on own for each row execute function helper_trigger()',
  'create rule r as on insert to own do also notify x',
  'create policy p on own using (true)',
  'create event trigger e on ddl_command_end execute function helper_event()',
  'create extension hstore',
  'create extension tablefunc',
  'create language plperl',
  'create publication p',
  'create foreign data wrapper w',
  'create server s foreign data wrapper w',
  'create schema mine',
  'create statistics s on (id + 1) from own',
  'create text search configuration words (copy = english)',
  'create text search dictionary words (template = simple)',
  'create access method m type index handler bthandler',
  'create transform for int language plpgsql (from sql with function helper_transform(internal))',
  'alter default privileges grant select on tables to public',
  'alter function helper() owner to current_user',
  'alter type own rename to other',
  'alter extension postgis update',
  'alter extension postgis add table own',
  "security label on table own is 'x'",
  'drop owned by current_user',
  'import foreign schema x from server y into public',
]

test('a key is refused everything that carries code or changes the meaning of a name', async (t) => {
  const { user, role } = await creator(t)
  await user.sql(`create function helper() returns int language sql return 1;
    create function helper_trigger() returns trigger language plpgsql as $$ begin return new; end $$`)
  await user.sql('create table own (id int)', [], role)
  for (const text of codeBearing) {
    const said = await told(user, role, text)
    assert.match(said, /^(42501: |42P01|42704|42883|0LP01|22023)/, `${text}: ${said}`)
    if (
      /^create (or replace )?(function|procedure|trigger t before|rule|policy|type|domain|cast|operator)/.test(
        text,
      )
    ) {
      assert.match(said, /^42501: an API key creates data, not code/, `${text}: ${said}`)
    }
  }
  const { rows } = await user.sql(
    `select count(*)::int as made from pg_shdepend
     where refobjid = $1::regrole and deptype = 'o' and classid <> 'pg_class'::regclass
       and dbid = (select oid from pg_database where datname = current_database())`,
    [role],
  )
  assert.deepEqual(rows, [{ made: 0 }])
})

test('over HTTP the refusal is a 403 that says why', async (t) => {
  const { user } = await setup(t)
  const { token } = await keysClient(user).make('maker', grantsOf({}, ['public']))
  const q = encodeURIComponent('create function f() returns int language sql return 1')
  const answer = await fetch(`${user.base}/api/v2/sql?q=${q}&api_key=${token}`)
  assert.equal(answer.status, 403)
  const { error, hint } = (await answer.json()) as { error: string[]; hint: string }
  assert.deepEqual(error, ['an API key creates data, not code: CREATE FUNCTION is not allowed'])
  assert.equal(hint, 'Use the master key.')
})

/** Each would run with the rights of the role that uses the table or the view. */
const effects = [
  `set_config('role', 'none', true)`,
  `set_config('search_path', 'elsewhere', false)`,
  'pg_sleep(1)::text',
  'pg_terminate_backend(1)::text',
  `pg_notify('x', 'y')::text`,
  'pg_advisory_lock(1)::text',
  'lo_unlink(1)::text',
  `lo_get(1)::text`,
  `setval('counter', 1)::text`,
  `query_to_xml('select 1', true, true, '')::text`,
  `table_to_xml('own', true, true, '')::text`,
  'helper()',
  'looks_harmless()',
  `cartodb._cdb_columntype_of()`,
  `dropgeometrytable('own')`,
  'current_query()',
]

test('expressions in what a key creates may call only functions that compute', async (t) => {
  const { user, role } = await creator(t)
  await user.sql(`create function helper() returns text language plpgsql as $$ begin return current_user; end $$;
    create function looks_harmless() returns text immutable language sql return 'x';
    create function echo(text) returns text immutable language plpgsql as $$ begin return $1; end $$;
    create function same(text, text) returns boolean immutable language sql return true;
    create operator public.=== (leftarg = text, rightarg = text, function = same);
    create table ready (v text default helper() check (looks_harmless() <> v))`)
  await user.sql('create table own (v text); create sequence counter', [], role)
  const attempts = effects.flatMap((call) => [
    `create table x (v text default ${call})`,
    `create table x (v text check (${call} is not null))`,
    `alter table own alter column v set default ${call}`,
    `alter table own add check (${call} is not null)`,
    `alter table own add column w text default ${call}`,
    `create view x as select ${call} as v`,
    `create view x as with w as (select ${call} as v) select * from own where exists (select from w)`,
    `create materialized view x as select ${call} as v with no data`,
  ])
  for (const text of [
    ...attempts,
    `create table x (v text, w text generated always as (looks_harmless()) stored)`,
    `create index on own (looks_harmless())`,
    `create index on own (v) where looks_harmless() <> v`,
    `create table x (v text) partition by list (echo(v))`,
    `create view x as select v === 'a' from own`,
    `create view x as select v from own order by helper()`,
    `create table x (like ready including all)`,
    `create table x (v text default (helper() || 'x'))`,
  ]) {
    assert.match(await told(user, role, text), /^(42501|42883): /, text)
  }
  for (const call of ['helper()', `set_config('role', 'none', true)`]) {
    assert.match(
      await told(user, role, `create view x as select ${call}`),
      /^42501: an API key creates data, not code: its query of public\.x calls /,
    )
  }
})

test('no tenant may call functions that run SQL given as text', async (t) => {
  const { context, user, role } = await creator(t)
  const { rows } = await context.admin(
    `select oid::regprocedure::text as name from pg_proc
     where pronamespace = 'pg_catalog'::regnamespace and proname ~ '_to_xml|^ts_stat$|^lo_(import|export)$|^pg_read_(binary_)?file$|^pg_ls_dir|^pg_stat_file'
     union all select 'ts_rewrite(tsquery,text)'`,
    [],
    user.account.database,
  )
  assert.ok(rows.length > 15)
  for (const tenant of [user.account.masterRole, user.account.publicRole, role]) {
    const may = await context.admin(
      'select name from unnest($1::text[]) name where has_function_privilege($2, name, $3)',
      [rows.map(({ name }) => name), tenant, 'execute'],
      user.account.database,
    )
    assert.deepEqual(may.rows, [], tenant)
  }
})

test("a SECURITY DEFINER function of the master role gives a key the master role's rights", async (t) => {
  const { user, role } = await creator(t)
  await user.sql(`create function add_function() returns void language plpgsql security definer as
    $$ begin create function made() returns int language sql return 7; end $$`)
  assert.equal(await refusal(user, role, 'select add_function()'), undefined)
  assert.deepEqual((await user.sql('select made()')).rows, [{ made: 7 }])
})

test('the master role still creates code, also on the tables of its keys', async (t) => {
  const { user, role } = await creator(t)
  await user.sql('create table own (v text)', [], role)
  await user.sql(`create function note() returns trigger language plpgsql as $$ begin new.v := 'noted'; return new; end $$;
    create trigger note before insert on own for each row execute function note();
    create type mood as enum ('ok'); create domain small as int check (value < 10); create schema mine;
    create operator public.=== (leftarg = text, rightarg = text, function = texteq)`)
  await user.sql(`insert into own values ('x'); alter table own add column w int`, [], role)
  assert.deepEqual((await user.sql('select v from own')).rows, [{ v: 'noted' }])
})

test('no tenant can switch these checks off', async (t) => {
  const { user, role } = await creator(t)
  for (const who of [role, user.account.masterRole]) {
    for (const text of [
      'drop event trigger cartage_check_command',
      'alter event trigger cartage_check_made disable',
      'alter event trigger cartage_check_command owner to current_user',
      'drop function cartage.check_command() cascade',
      `set session_replication_role = replica`,
      `create or replace function cartodb._CDB_KeyType(role name) returns text language sql return null`,
    ]) {
      assert.equal(await refusal(user, who, text), denied, text)
    }
  }
})

test("a key with `create` and `table_metadata` cannot use the service's own queries to act as master", async (t) => {
  const context: Setup = await setup(t)
  const { user } = context
  const { token } = await keysClient(user).make('k', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', schemas: [{ name: 'public', permissions: ['create'] }], table_metadata: [] },
  ])
  // A key cannot create an operator here, so the master role creates one that records its caller.
  await user.sql(`create table caught (who text); create table shown (id int); select CDB_CartodbfyTable('shown');
    insert into shown default values;
    create function public.trap(regclass, oid) returns boolean language plpgsql as
      $$ begin insert into public.caught values (current_user); return true; end $$;
    create operator public.= (leftarg = regclass, rightarg = oid, function = public.trap)`)
  const answer = await fetch(`${user.base}/api/v4/datasets?api_key=${token}`)
  assert.equal(answer.status, 200)
  assert.deepEqual((await user.sql('select * from caught')).rows, [])
})
