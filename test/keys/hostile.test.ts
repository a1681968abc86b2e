import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { repairAccounts } from '../../src/accounts/repair-accounts.ts'
import { jobSession } from '../support/jobs/job-session.ts'
import { grantsOf, keyRolesOf, keysClient, refusal, roleOf, tablesOf } from '../support/keys/keys-client.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const denied = '42501'

/** Objects named like those the service calls, which record who calls them. */
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
  create function public.same_table(regclass, oid) returns boolean
    language plpgsql as $$ begin perform public.trap('='); return true; end $$;
  create operator public.= (leftarg = regclass, rightarg = oid, function = public.same_table);
  create function public.same_kind("char", text) returns boolean
    language plpgsql as $$ begin perform public.trap('='); return true; end $$;
  create operator public.= (leftarg = "char", rightarg = text, function = public.same_kind);
  create function public.greatest_of(real, integer) returns boolean
    language plpgsql as $$ begin perform public.trap('<'); return true; end $$;
  create operator public.< (leftarg = real, rightarg = integer, function = public.greatest_of);
  create function public.st_asgeojson(geometry, integer) returns text
    language plpgsql as $$ begin perform public.trap('st_asgeojson'); return '{}'; end $$;
  create function public.count() returns bigint
    language plpgsql as $$ begin perform public.trap('count'); return 1; end $$;
  create function public.pg_total_relation_size(oid) returns bigint
    language plpgsql as $$ begin perform public.trap('pg_total_relation_size'); return 1; end $$;
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

test("the service never runs a tenant's object that is named like one it calls", async (t) => {
  const context = await setup(t)
  const { user, admin, url } = context
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
  await user.sql('create table made (id serial, the_geom geometry)', [], role)
  for (const path of [
    '/api/v4/datasets?',
    '/api/v1/viz?type=table&',
    '/api/v1/viz/made?',
    '/api/v2/sql?q=select+*+from+made&format=geojson&',
    '/api/v2/sql?q=select+*+from+made&page=0&rows_per_page=1&order_by=id&',
    '/api/v2/sql/copyto?q=copy+made+to+stdout&',
  ]) {
    const answer = await fetch(`${user.base}${path}api_key=${user.masterToken}`)
    assert.equal(answer.status, 200, `${path}: ${await answer.text()}`)
  }
  assert.equal((await fetch(`${url}/api/v4/me?api_key=${user.masterToken}`)).status, 200)
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

test('temporary objects of a session cannot deceive the checks after its commands', async (t) => {
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

test('no role of a key has an attribute, or a membership outside its account', async (t) => {
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

test("grants in another tenant's database do not hold up the deletion of a key's role", async (t) => {
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

test('an outsider who locks catalog rows of a role holds up neither its deletion nor anything else', async (t) => {
  const context = await setup(t)
  const { user, createUser, service, url, keys } = context
  const { installation } = service.services
  const stranger = await createUser()
  const victim = await createUser()
  await keysClient(user).make('k')
  const role = await roleOf(context, user, 'k')
  await stranger.sql(
    `create table bait (id int); create policy p on bait to "${role}", "${victim.account.masterRole}"`,
  )
  const holder = await jobSession(t, context, stranger)
  await holder.query('begin; lock table bait in access exclusive mode')
  await holder.query('select pg_advisory_lock(7238001), pg_advisory_lock(7238003, hashtext($1))', [
    stranger.account.masterRole,
  ])
  const before = Date.now()
  assert.equal((await keysClient(user).remove('k')).status, 200)
  await deleteUser(installation, victim.username)
  await keysClient(user).make('k2')
  const patched = await fetch(`${url}/admin/v1/users/${user.username}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${keys.adminToken}`, 'content-type': 'application/json' },
    body: '{"quota_in_bytes":123456789}',
  })
  assert.equal(patched.status, 200)
  assert.equal((await fetch(`${url}/health/ready`)).status, 200)
  assert.ok(Date.now() - before < 25_000, 'nobody waits for the stranger')
  await holder.destroy()
  await eventually(async () => assert.equal((await keyRolesOf(context, user)).includes(role), false), 60_000)
  await repairAccounts(installation)
  const left = await context.admin('select from pg_roles where rolname = $1', [victim.account.masterRole])
  assert.equal(left.rowCount, 0)
})

test('a tenant that holds the lock of the quota check does not hold up a change of its quota', async (t) => {
  const context = await setup(t)
  const { createUser, url, keys } = context
  const user = await createUser({ quotaBytes: 1_000_000_000 })
  const holder = await jobSession(t, context, user, { searchPath: 'public,cartodb,postgis' })
  await holder.query('begin; create table t as select 1 as id; set constraints all immediate')
  const patched = await fetch(`${url}/admin/v1/users/${user.username}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${keys.adminToken}`, 'content-type': 'application/json' },
    body: '{"quota_in_bytes":2000000000}',
    signal: AbortSignal.timeout(4_000),
  })
  assert.equal(patched.status, 200)
})

test("grants in another tenant's database do not hold up the deletion of a user", async (t) => {
  const context = await setup(t)
  const { user: stranger, createUser, service, admin } = context
  const user = await createUser()
  await keysClient(user).make('k')
  const roles = [user.account.masterRole, user.account.publicRole, await roleOf(context, user, 'k')]
  await stranger.sql(
    `create table bait (id int); grant select on bait to ${roles.map((role) => `"${role}"`).join()}`,
  )
  await deleteUser(service.services.installation, user.username)
  const left = await admin('select from pg_roles where rolname = any($1)', [roles])
  assert.equal(left.rowCount, 0)
  assert.equal((await stranger.sql('select * from bait')).rowCount, 0)
})

/** Creates a key, lets it create what it can, then deletes it. */
async function deletedKey(context: Setup, user: TestUser, tables: Record<string, string[]>, made: string) {
  await keysClient(user).make('gone', grantsOf(tables, ['public']))
  const role = await roleOf(context, user, 'gone')
  await user.sql(made, [], role)
  const { status, body } = await keysClient(user).remove('gone')
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal((await keyRolesOf(context, user)).includes(role), false)
}

test('the objects of a deleted key go to its user', async (t) => {
  const context = await setup(t)
  const { user } = context
  await deletedKey(
    context,
    user,
    {},
    `create table made (id serial primary key, v text); insert into made default values;
     create sequence counter; create materialized view kept as select 1 as id`,
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
  await user.sql(`insert into made default values; alter table made add column x int; drop table made;
    drop sequence counter; drop materialized view kept`)
})

test('the views of a deleted key lose what the key could read', async (t) => {
  const context = await setup(t)
  const { user } = context
  const everyone = user.account.publicRole
  await user.sql('create table secret as select 42 as answer; create table shared as select 1 as id')
  await keysClient(user).make('gone', grantsOf({ shared: ['select'] }, ['public']))
  const role = await roleOf(context, user, 'gone')
  // A key may name a table in a view that it may not read.
  await user.sql(
    `create view peek as select * from shared; create view pry as select * from secret;
     create materialized view copied as select * from secret with no data; grant select on peek, pry, copied to "${everyone}"`,
    [],
    role,
  )
  await keysClient(user).make('other', grantsOf({ peek: ['select'], pry: ['select'], copied: ['select'] }))
  const other = await roleOf(context, user, 'other')
  assert.equal(await refusal(user, other, 'select * from peek'), undefined)
  assert.equal((await keysClient(user).remove('gone')).status, 200)
  await user.sql('refresh materialized view copied')
  for (const view of ['peek', 'pry', 'copied']) {
    for (const reader of [everyone, other]) {
      assert.equal(await refusal(user, reader, `select * from ${view}`), denied, view)
    }
    assert.equal((await user.sql(`select * from ${view}`)).rowCount, 1, view)
  }
})

test("code owned by the role of a deleted key never runs with the user's rights", async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await user.sql('create table diary (line text); grant insert on diary to public')
  await keysClient(user).make('gone', grantsOf({}, ['public']))
  const role = await roleOf(context, user, 'gone')
  await user.sql('create table inbox (line text); create table parent (id int primary key)', [], role)
  await user.sql('create table child (id int references parent on delete cascade)', [], role)
  // A key can create none of this: here the operator gives it what another hole might allow.
  const given = `create function public.noted() returns boolean language plpgsql as
      $$ begin insert into public.diary values (current_user); return true; end $$;
    create function public.always() returns boolean language plpgsql immutable as $$ begin return public.noted(); end $$;
    create function public.on_row() returns trigger language plpgsql as $$ begin perform public.noted(); return old; end $$;
    create function public.tell() returns int language sql security definer as 'select 1';
    create domain public.tricky as text check (public.noted());
    create function public.through(text) returns text language plpgsql immutable as $$ begin return $1::public.tricky; end $$;
    create function public.apart(text, text) returns float8 language plpgsql immutable as $$ begin perform public.noted(); return 1; end $$;
    create type public.span as range (subtype = text, subtype_diff = public.apart);
    create table public.spans (during public.span); insert into public.spans values ('[a,b)');
    create index on public.spans using gist (during);
    create index noted on public.inbox (public.always()); create index through on public.inbox (public.through(line));
    create statistics public.noted_too on (public.always()::text), line from public.inbox;
    alter table public.inbox add check (public.noted()), alter line set default case when public.noted() then 'x' end,
      enable row level security, force row level security;
    create policy p on public.inbox using (public.noted());
    create rule copy as on update to public.inbox do also insert into public.diary values (new.line);
    create trigger t before delete on public.child for each row execute function public.on_row();
    alter table public.spans owner to "${role}"; alter domain public.tricky owner to "${role}"; alter type public.span owner to "${role}";
    alter statistics public.noted_too owner to "${role}";
    do $$ declare f regprocedure; begin
      for f in select oid from pg_proc where pronamespace = 'public'::regnamespace loop
        execute format('alter function %s owner to %I', f, '${role}');
      end loop; end $$`
  await admin(given, [], user.account.database)
  assert.equal((await keysClient(user).remove('gone')).status, 200)
  assert.deepEqual(await keyRolesOf(context, user), [])
  await user.sql(`delete from diary; alter table inbox no force row level security;
    insert into inbox values (default), ('mine'); update inbox set line = 'x'; insert into parent values (1);
    insert into child values (1); delete from parent; insert into spans values ('[c,d)'); select * from inbox`)
  await user.sql('analyze').catch(() => undefined)
  assert.deepEqual((await user.sql('select * from diary')).rows, [])
  const { rows } = await user.sql(
    'select count(*)::int as definers from pg_proc where prosecdef and proowner = current_user::regrole',
  )
  assert.deepEqual(rows, [{ definers: 0 }])
})

test('a deleted key loses its rights at once, although its objects are locked or it alters itself', async (t) => {
  const context = await setup(t)
  const { user, service } = context
  const { databases } = service.services
  await user.sql('create table secret as select 42 as answer; create table other (id int)')
  const { token } = await keysClient(user).make(
    'gone',
    grantsOf({ secret: ['select'], other: ['select'] }, ['public']),
  )
  const role = await roleOf(context, user, 'gone')
  await user.sql('create table made (id int); create view pry as select * from secret', [], role)
  await user.sql('grant select on pry to public', [], role)
  const session = (as: string) =>
    databases.job.acquire({ hostId: 1, database: user.account.database, role: as, searchPath: 'public' })
  const [holder, self, accomplice] = await Promise.all(
    [user.account.masterRole, role, user.account.masterRole].map(session),
  )
  t.after(() => Promise.all([holder, self, accomplice].map((each) => each?.destroy())))
  await holder!.query('begin; lock table made, pry in access share mode')
  // A GRANT locks the table's row in the catalog.
  await accomplice!.query('begin; grant select on secret to current_user')
  await self!.query(`begin; alter role current_user password 'held'`)
  const before = Date.now()
  assert.equal((await keysClient(user).remove('gone')).status, 200)
  assert.ok(Date.now() - before < 8_000, 'nobody waits')
  assert.equal(await refusal(user, user.account.publicRole, 'select * from pry'), denied)
  const { rows } = await context.admin(
    `select rolcanlogin, has_table_privilege(oid, 'secret', 'select') as reads,
       (select count(*)::int from pg_auth_members where member = pg_roles.oid) as memberships from pg_roles where rolname = $1`,
    [role],
    user.account.database,
  )
  assert.deepEqual(rows, [{ rolcanlogin: false, reads: false, memberships: 0 }])
  // Other changes of the user and its keys are not held up either.
  await keysClient(user).make('next')
  assert.equal((await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${token}`)).status, 401)
  await holder!.query('rollback')
  await eventually(async () => assert.equal((await keyRolesOf(context, user)).includes(role), false), 60_000)
})

test('grants to other keys on the tables of a deleted key stay', async (t) => {
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

test('a key that changed its password or settings keeps working, and regenerating resets the password', async (t) => {
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
  const { addresses } = service.services.databases.hosts.get(user.account.hostId)
  const thief = new pg.Client({
    ...addresses[0],
    user: role,
    password: 'stolen',
    database: user.account.database,
  })
  thief.on('error', () => undefined)
  await assert.rejects(thief.connect(), { code: '28P01' })
})

test("regenerating a token also ends a job that changes the role's password in a transaction", async (t) => {
  const context = await setup(t)
  const { user } = context
  const holder = await jobSession(t, context, user)
  await holder.query(`set application_name = 'cartage job'; begin; alter role current_user password 'stolen'`)
  const { status } = await keysClient(user).regenerate('Master')
  assert.equal(status, 200)
  await assert.rejects(holder.query('commit'))
})
