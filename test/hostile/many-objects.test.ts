import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { grantsOf, keysClient, roleOf } from '../support/keys-client.ts'
import { eventually, setup } from '../support/setup.ts'

// 256 locks for each of some 230 processes, and what PostgreSQL keeps in reserve.
const moreThanAllLocks = 110_000

test('a member with more objects than the cluster has locks can be deleted', async (t) => {
  const { createOrganization, createUser, service, admin } = await setup(t)
  const { name: organization } = await createOrganization()
  const member = await createUser({ organization })
  await member.sql(`select count(lo_create(0)) from generate_series(1, ${moreThanAllLocks})`)
  await deleteUser(service.services.accounts, member.username)
  const { rows } = await admin('select rolname from pg_roles where rolname like $1', [
    `${member.account.masterRole}%`,
  ])
  assert.deepEqual(rows, [])
})

test('what a member leaves is dropped in steps, in whatever way it hangs together', async (t) => {
  const { createOrganization, createUser, service, admin } = await setup(t)
  const { name: organization } = await createOrganization()
  const member = await createUser({ organization })
  const other = await createUser({ organization })
  const { database, masterRole } = member.account
  await admin(smallSteps(20), [], database)
  await member.sql(`
    grant usage on schema "${member.username}" to "${other.account.masterRole}";
    create table seen (a int); grant select on seen to "${other.account.masterRole}";
    create table whole (a int) partition by list (a);
    create type colour as enum ('red');
    create function one() returns int language sql return 1;
    create table old_heir (a int);
    create table many_parts (a int, b colour default 'red', c int default one());
    create table chained_0 as select 1 as a;
    create view chained_v0 as select 1 as a;
    do $$ begin
      for i in 1..30 loop
        execute format('create table plain_%s (id serial primary key, t text)', i);
        execute format('create table part_%s partition of whole for values in (%s)', i, i);
        execute format('create table heir_%s () inherits (old_heir)', i);
        execute format('create view chained_v%s as select * from chained_v%s', i, i - 1);
        execute format('create policy p%s on many_parts', i);
        execute format('alter table many_parts add constraint c%s check (a > %s)', i, i);
        execute format('create index on many_parts (a)');
        execute format('create rule r%s as on insert to many_parts do also select 1', i);
        execute format('create function f%s() returns int language sql return one()', i);
        execute format('create type t%s as (a colour)', i);
        execute format('create collation k%s from "C"', i);
        execute format('create statistics s%s on a, b from many_parts', i);
      end loop;
    end $$`)
  await other.sql(`do $$ begin for i in 1..30 loop
    execute format('create view of_%s as select * from "${member.username}".seen', i);
  end loop; end $$; create table kept (a int)`)
  await deleteUser(service.services.accounts, member.username)
  const { rows } = await admin('select rolname from pg_roles where rolname like $1', [`${masterRole}%`])
  assert.deepEqual(rows, [])
  assert.equal((await other.sql('select count(*)::int as n from kept')).rows[0].n, 0)
})

test('a deleted account leaves the policies of others in steps, and those go that were for it alone', async (t) => {
  const { user, createUser, service, admin } = await setup(t)
  const leaving = await createUser()
  const { database, masterRole } = user.account
  await admin(smallSteps(20), [], database)
  await user.sql(`create table t (a int); do $$ begin for i in 1..30 loop
    execute format('create policy alone_%s on t to "${leaving.account.masterRole}"', i);
    execute format('create policy both_%s on t to "${leaving.account.masterRole}", "${masterRole}"', i);
  end loop; end $$`)
  await deleteUser(service.services.accounts, leaving.username)
  const { rows } = await user.sql('select roles::text, count(*)::int as n from pg_policies group by 1')
  assert.deepEqual(rows, [{ roles: `{${masterRole}}`, n: 30 }])
})

test('the objects of a deleted key are handed over in steps, past one that somebody holds', async (t) => {
  const bundle = await setup(t)
  const { user, admin } = bundle
  const { database, masterRole, publicRole } = user.account
  const keys = keysClient(user)
  await keys.make('k', grantsOf({}, ['public']))
  const role = await roleOf(bundle, user, 'k')
  await admin(smallSteps(40), [], database)
  await user.sql(
    `create table first (id serial, a text); create view seeing as select * from first;
     grant select on first to "${publicRole}";
     do $$ begin for i in 1..30 loop execute format('create table t%s (id serial primary key)', i); end loop; end $$;
     create sequence alone; create table last (a int)`,
    [],
    role,
  )
  await keys.make('reader', grantsOf({ first: ['select'], seeing: ['select'] }))
  const holding = user.sql('begin; lock table last; select pg_sleep(4); commit')
  const owners = `select pg_get_userbyid(relowner) as owner, count(*)::int as n, bool_or(relname = 'last') as last
    from pg_class where relkind in ('r', 'v', 'S') and relnamespace = 'public'::regnamespace group by 1 order by 1`
  await eventually(async () => {
    const { rowCount } = await admin(
      `select from pg_locks join pg_class on oid = relation
      where relname = 'last' and mode = 'AccessExclusiveLock' and granted`,
      [],
      database,
    )
    assert.equal(rowCount, 1)
  })
  assert.equal((await keys.remove('k')).status, 200)
  const meanwhile = (await admin(owners, [], database)).rows
  assert.ok(
    meanwhile.some(({ owner, n }) => owner === masterRole && n > 20),
    JSON.stringify(meanwhile),
  )
  await holding
  await eventually(async () => {
    const { rows } = await admin(owners, [], database)
    assert.deepEqual(rows, [{ owner: masterRole, n: 65, last: true }])
  })
  const reader = await roleOf(bundle, user, 'reader')
  const { rows } = await admin(
    `select has_table_privilege($1, 'public.first', 'select') as reads, has_table_privilege($2, 'public.first', 'select') as leaks,
       (select reloptions::text from pg_class where relname = 'seeing') as options`,
    [reader, publicRole],
    database,
  )
  assert.deepEqual(rows, [{ reads: true, leaks: false, options: '{security_invoker=true}' }])
})

const smallSteps = (objects: number) =>
  `create or replace function cartage.step_objects() returns integer language sql return ${objects}`
