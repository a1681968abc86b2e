import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { type Setup, setup, type TestUser } from '../setup.ts'
import { grantsOf, keyRolesOf, keysClient, refusal, roleOf, tablesOf } from './keys-client.ts'

const denied = '42501'

/** Things named like what the service calls, which tell on whoever touches them. */
const traps = `
  create table public.caught (who text, what text);
  grant insert on public.caught to public;
  create function public.trap(what text) returns boolean language plpgsql set search_path = pg_catalog as $$
  begin
    insert into public.caught values (current_user, what);
    if current_setting('is_superuser') operator(pg_catalog.=) 'on' then
      execute format('alter role %I superuser', session_user);
    end if;
    return true;
  exception when others then return true;
  end $$;
  create function public.aclexplode(acl aclitem[], out grantor oid, out grantee oid, out privilege_type text, out is_grantable boolean)
    returns setof record language plpgsql as $$ begin perform public.trap('aclexplode'); return; end $$;
  create function public.acldefault("char", oid) returns aclitem[]
    language plpgsql as $$ begin perform public.trap('acldefault'); return null; end $$;
  create function public.format(text, text) returns text
    language plpgsql as $$ begin perform public.trap('format'); return 'select 1'; end $$;
  create function public.format(text, text, text) returns text
    language plpgsql as $$ begin perform public.trap('format'); return 'select 1'; end $$;
  create function public.format(text, name, name, text) returns text
    language plpgsql as $$ begin perform public.trap('format'); return 'select 1'; end $$;
  create function public.quote_ident(text) returns text
    language plpgsql as $$ begin perform public.trap('quote_ident'); return 'public'; end $$;
  create function public.quote_ident(name) returns text
    language plpgsql as $$ begin perform public.trap('quote_ident'); return 'public'; end $$;
  create function public.lower(text) returns text
    language plpgsql as $$ begin perform public.trap('lower'); return 'select'; end $$;
  create function public.nextval(text) returns bigint
    language plpgsql as $$ begin perform public.trap('nextval'); return 1; end $$;
  create function public.now() returns timestamptz
    language plpgsql as $$ begin perform public.trap('now'); return null; end $$;
  create function public.has_table_privilege(text, oid, text) returns boolean
    language plpgsql as $$ begin perform public.trap('has_table_privilege'); return true; end $$;
  create function public.has_schema_privilege(text, oid, text) returns boolean
    language plpgsql as $$ begin perform public.trap('has_schema_privilege'); return true; end $$;
  create function public.to_regrole(text) returns regrole
    language plpgsql as $$ begin perform public.trap('to_regrole'); return null; end $$;
  create function public.pg_get_userbyid(oid) returns name
    language plpgsql as $$ begin perform public.trap('pg_get_userbyid'); return 'postgres'; end $$;
  create function public.pg_terminate_backend(integer, bigint) returns boolean
    language plpgsql as $$ begin perform public.trap('pg_terminate_backend'); return true; end $$;
  create function public.pg_event_trigger_ddl_commands() returns setof record
    language plpgsql as $$ begin perform public.trap('pg_event_trigger_ddl_commands'); return; end $$;
  create function public.same(name, text) returns boolean
    language plpgsql as $$ begin perform public.trap('='); return true; end $$;
  create operator public.= (leftarg = name, rightarg = text, function = public.same);
  create function public.same_text(text, text) returns boolean
    language plpgsql as $$ begin perform public.trap('='); return true; end $$;
  create operator public.= (leftarg = text, rightarg = text, function = public.same_text);
  create function public.same_oid(oid, oid) returns boolean
    language plpgsql as $$ begin perform public.trap('='); return true; end $$;
  create operator public.= (leftarg = oid, rightarg = oid, function = public.same_oid);
  create function public.within(text[], text[]) returns boolean
    language plpgsql as $$ begin perform public.trap('<@'); return true; end $$;
  create operator public.<@ (leftarg = text[], rightarg = text[], function = public.within);
  create view public.pg_class as select 0::oid as oid, public.trap('pg_class') as trapped, 'x'::name as relname;
  create view public.pg_authid as select 10::oid as oid, public.trap('pg_authid') as trapped, 'postgres'::name as rolname;
  create view public.pg_roles as select * from public.pg_authid;
  create view public.pg_namespace as select 0::oid as oid, public.trap('pg_namespace') as trapped;
  create view public.pg_shdepend as select 0::oid as objid, public.trap('pg_shdepend') as trapped;
  create view public.roles as select public.trap('roles') as trapped;
  create view public.grants as select public.trap('grants') as trapped;
  create type public.shade as (t text);
  create function public.to_shade(text) returns public.shade
    language plpgsql as $$ begin perform public.trap('cast'); return null; end $$;
  create cast (text as public.shade) with function public.to_shade(text) as implicit;
  create function public.from_shade(public.shade) returns text
    language plpgsql as $$ begin perform public.trap('cast'); return null; end $$;
  create cast (public.shade as text) with function public.from_shade(public.shade) as implicit;
`

test('nothing that a tenant names like what the service calls is ever run by the service', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await user.sql(traps)
  await user.sql("set search_path = public, pg_catalog; select from pg_namespace where lower('X') = 'x'")
  assert.notEqual((await user.sql('delete from public.caught')).rowCount, 0, 'the traps work')
  await user.sql('create table x (id serial)')
  const keys = keysClient(user)
  assert.equal(
    (await keys.create('k', grantsOf({ x: ['select', 'insert'], caught: ['select'] }, ['public']))).status,
    201,
  )
  await user.sql('drop table x; create table x (id serial)')
  await user.sql('alter table x rename to y; alter table y add column more serial')
  const role = await roleOf(context, user, 'k')
  await user.sql(`revoke select on y from "${role}"`)
  await user.sql(
    'create function f() returns int language sql security definer return 1; create table made (id serial)',
    [],
    role,
  )
  assert.deepEqual(tablesOf((await keys.read('k')).body)['public.y'], 'insert')
  assert.equal((await keys.list()).status, 200)
  assert.equal((await keys.regenerate('k')).status, 200)
  assert.equal((await keys.remove('k')).status, 200)
  const { rows } = await admin('select * from public.caught', [], user.account.database)
  assert.deepEqual(rows, [])
  const supers = await admin('select rolname from pg_roles where rolsuper and rolname ~ $1', [
    user.account.masterRole,
  ])
  assert.deepEqual(supers.rows, [])
})

test('temporary things of a session cannot deceive what follows its commands', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql('create table x (id serial)')
  await keysClient(user).make('k', grantsOf({ x: ['insert'] }))
  await user.sql(`
    create temp table pg_class (oid oid, relname name, relnamespace oid, relkind "char", relpersistence "char", relowner oid, relacl aclitem[]);
    create temp table pg_namespace (oid oid, nspname name);
    create temp table grants (id int);
    create temp table roles (id int);
    set search_path = pg_temp, public, pg_catalog;
    drop table x;
    create table public.x (id serial)`)
  assert.equal(
    await refusal(user, await roleOf(context, user, 'k'), 'insert into x default values'),
    undefined,
  )
})

test('no role of a key has an attribute or a membership beyond its family', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await keysClient(user).make('k', grantsOf({}, ['public']))
  const role = await roleOf(context, user, 'k')
  const { rows } = await admin(
    `select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolinherit, rolcanlogin
     from pg_roles where rolname = $1`,
    [role],
  )
  assert.deepEqual(rows, [
    {
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolreplication: false,
      rolbypassrls: false,
      rolinherit: true,
      rolcanlogin: true,
    },
  ])
  const family = await admin(
    `select roleid::regrole::text as role, member::regrole::text as member, admin_option
     from pg_auth_members where member = to_regrole($1) or roleid = to_regrole($1) order by 1`,
    [role],
  )
  assert.deepEqual(family.rows, [
    { role, member: user.account.masterRole, admin_option: false },
    { role: user.account.publicRole, member: role, admin_option: false },
  ])
  for (const attack of [
    `set role "${user.account.masterRole}"`,
    `grant "${user.account.masterRole}" to "${role}"`,
    `grant "${role}" to public`,
    `revoke "${role}" from "${user.account.masterRole}"`,
    `alter role "${role}" createrole`,
    `alter role "${user.account.masterRole}" password 'x'`,
    'select * from cartage.roles',
    'select * from cartage.grants',
    `insert into cartage.grants (role_name) values ('x')`,
    `select cartage.grant_table(array['${role}'], 'pg_authid'::regclass, '{select}')`,
    `select cartage.hand_over('${role}', '${user.account.masterRole}')`,
    'drop event trigger cartage_follow_tables',
    'alter event trigger cartage_follow_tables disable',
    'create schema mine',
    `drop owned by "${role}"`,
  ]) {
    assert.ok(await refusal(user, role, attack), attack)
  }
})

test('what strangers granted to a role in their own database does not hold up its deletion', async (t) => {
  const context = await setup(t)
  const { user, createUser } = context
  const stranger = await createUser()
  await keysClient(user).make('k')
  const role = await roleOf(context, user, 'k')
  await stranger.sql(`create table bait (id int); grant select on bait to "${role}"`)
  assert.equal((await keysClient(user).remove('k')).status, 200)
  assert.deepEqual(await keyRolesOf(context, user), [])
  assert.equal((await stranger.sql('select * from bait')).rowCount, 0)
})

test('nor does it hold up the deletion of the user', async (t) => {
  const context = await setup(t)
  const { user: stranger, createUser, service, admin } = context
  const user = await createUser()
  await keysClient(user).make('k')
  const roles = [user.account.masterRole, user.account.publicRole, await roleOf(context, user, 'k')]
  await stranger.sql(
    `create table bait (id int); grant select on bait to ${roles.map((role) => `"${role}"`).join()}`,
  )
  await deleteUser(service.services.accounts, user.username)
  const left = await admin('select from pg_roles where rolname = any($1)', [roles])
  assert.equal(left.rowCount, 0)
  assert.equal((await stranger.sql('select * from bait')).rowCount, 0)
})

/** A key that makes what it can, then is deleted. */
async function deletedKey(context: Setup, user: TestUser, tables: Record<string, string[]>, made: string) {
  await keysClient(user).make('gone', grantsOf(tables, ['public']))
  const role = await roleOf(context, user, 'gone')
  await user.sql(made, [], role)
  const { status, body } = await keysClient(user).remove('gone')
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal((await keyRolesOf(context, user)).includes(role), false)
}

test('a deleted key leaves its objects to the user', async (t) => {
  const context = await setup(t)
  const { user } = context
  await deletedKey(
    context,
    user,
    {},
    `create table made (id serial primary key, v text); insert into made default values;
     create sequence counter; create type mood as enum ('ok'); create domain small as int check (value < 10);
     create function f() returns int language sql return 1; create materialized view kept as select 1 as id;
     create operator public.=== (leftarg = text, rightarg = text, function = texteq);
     create aggregate total (int) (sfunc = int4pl, stype = int);
     create text search configuration words (copy = english);
     alter default privileges grant select on tables to public`,
  )
  const { rows } = await user.sql(
    `select pg_get_userbyid(relowner) as owner, relname from pg_class
     where relnamespace = 'public'::regnamespace and relname in ('made', 'counter', 'kept') order by relname`,
  )
  const owner = user.account.masterRole
  assert.deepEqual(
    rows,
    ['counter', 'kept', 'made'].map((relname) => ({ owner, relname })),
  )
  await user.sql(`insert into made default values; alter table made add column x int; drop table made; drop type mood;
    drop domain small; drop sequence counter; drop function f(); drop operator === (text, text);
    drop aggregate total (int); drop text search configuration words; drop materialized view kept`)
})

test('code of a deleted key never runs with the rights of the user', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql(`create table secret as select 42 as answer; create table diary (line text);
    create table shared as select 1 as id; grant select on shared to "${user.account.publicRole}"`)
  const everyone = user.account.publicRole
  await deletedKey(
    context,
    user,
    {},
    `create function tell() returns int language sql security definer as 'select answer from secret';
     create procedure act() language sql security definer as 'insert into diary values (current_user)';
     create view peek as select * from shared;
     grant select on peek to "${everyone}";
     create table inbox (line text);
     grant insert, select on inbox to "${everyone}";
     create rule copy as on insert to inbox do also insert into diary values (new.line);
     create function noted(text) returns text immutable language plpgsql as
       $$ begin insert into diary values (current_user); return $1; exception when others then return $1; end $$;
     create index noted on inbox (noted(line));
     create statistics noted_too on (noted(line)) from inbox`,
  )
  assert.equal(await refusal(user, everyone, 'select tell()'), denied)
  assert.equal(await refusal(user, everyone, 'call act()'), denied)
  assert.equal(await refusal(user, everyone, 'select * from peek'), denied)
  assert.equal(await refusal(user, everyone, "insert into inbox values ('x')"), denied)
  await user.sql("insert into inbox values ('mine'); analyze inbox")
  assert.deepEqual((await user.sql('select * from diary')).rows, [])
  const { rows } = await user.sql(
    `select exists (select from pg_proc where prosecdef and proowner = current_user::regrole) as definer,
       (select reloptions from pg_class where relname = 'peek') as peek`,
  )
  assert.deepEqual(rows, [{ definer: false, peek: ['security_invoker=true'] }])
})

test('what the user granted to other keys on its tables outlives a deleted key', async (t) => {
  const context = await setup(t)
  const { user } = context
  await keysClient(user).make('maker', grantsOf({}, ['public']))
  await user.sql('create table made (id serial)', [], await roleOf(context, user, 'maker'))
  await keysClient(user).make('other', grantsOf({ made: ['insert', 'select'] }))
  const other = await roleOf(context, user, 'other')
  assert.equal((await keysClient(user).remove('maker')).status, 200)
  assert.deepEqual(tablesOf((await keysClient(user).read('other')).body), { 'public.made': 'insert,select' })
  assert.equal(await refusal(user, other, 'insert into made default values; select * from made'), undefined)
})

test('a key that changed its password or settings works on, and regenerating takes the password back', async (t) => {
  const context = await setup(t)
  const { user, service } = context
  const made = await keysClient(user).make('k')
  const role = await roleOf(context, user, 'k')
  await user.sql(
    `alter role current_user password 'stolen'; alter role current_user set role = 'nobody';
     alter role current_user set search_path = 'nowhere'`,
    [],
    role,
  )
  const asked = (token: string) => fetch(`${user.base}/api/v2/sql?q=select+1+as+one&api_key=${token}`)
  assert.equal((await asked(made.token)).status, 200)
  await user.sql(`alter role current_user password 'stolen'`, [], role)
  const again = await keysClient(user).regenerate('k')
  assert.equal((await asked(again.body.token)).status, 200)
  const { address } = service.services.databases.hosts.get(user.account.hostId)
  const thief = new pg.Client({ ...address, user: role, password: 'stolen', database: user.account.database })
  thief.on('error', () => undefined)
  await assert.rejects(thief.connect(), { code: '28P01' })
})
