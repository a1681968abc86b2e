import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { grantsOf, keysClient, roleOf } from '../support/keys/keys-client.ts'
import { eventually, setup } from '../support/service/setup.ts'

// 256 locks for each of some 230 processes, and PostgreSQL's reserve.
const moreThanAllLocks = 110_000

test('a member with more objects than the cluster has locks can be deleted', async (t) => {
  const { createOrganization, createUser, service, admin } = await setup(t)
  const { name: organization } = await createOrganization()
  const member = await createUser({ organization })
  const { database, masterRole } = member.account
  await admin(`grant execute on function lo_create(oid) to ${masterRole}`, [], database)
  await member.sql(`select count(lo_create(0)) from generate_series(1, ${moreThanAllLocks})`)
  await deleteUser(service.services.installation, member.username)
  const { rows } = await admin('select rolname from pg_roles where rolname like $1', [
    `${member.account.masterRole}%`,
  ])
  assert.deepEqual(rows, [])
})

test('the objects of a deleted member are dropped in steps, whatever their dependencies', async (t) => {
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
  await deleteUser(service.services.installation, member.username)
  const { rows } = await admin('select rolname from pg_roles where rolname like $1', [`${masterRole}%`])
  assert.deepEqual(rows, [])
  assert.equal((await other.sql('select count(*)::int as n from kept')).rows[0].n, 0)
})

/**
 * Statements that create object number i, for each kind that a member can own or attach to a table; `before` creates
 * what they need.
 */
const kinds: Readonly<Record<string, { before?: string; each: string }>> = {
  aggregate: { each: 'create aggregate a_%1$s (*) (sfunc = int8inc, stype = int8, initcond = 0)' },
  'aggregate of an ordered set': {
    before: `create function add_text (text, text) returns text language sql as 'select $1';
      create function end_text (text, float8) returns text language sql as 'select $1'`,
    each: 'create aggregate o_%1$s (float8 order by text) (sfunc = add_text, stype = text, finalfunc = end_text)',
  },
  procedure: { each: 'create procedure p_%1$s (in a int, out b text) begin atomic select 1::text; end' },
  'procedure of the same name': {
    before: 'create procedure same (int) begin atomic select 1; end',
    each: `create type same_%1$s as enum ('a');
      create procedure same (a same_%1$s, out b int) language sql as 'select 1'`,
  },
  'function on rows of one table': {
    before: 'create table rows_of (a int)',
    each: 'create function on_row_%1$s (r rows_of) returns int return 1',
  },
  'column of one type': {
    before: 'create type held as (a int)',
    each: 'create table holds_%1$s (a held, b held[], c int)',
  },
  'circle of functions': {
    before: 'create function circle_0 () returns int return 1',
    each: `create function circle_%1$s () returns int return circle_%2$s();
      create or replace function circle_0 () returns int return circle_%1$s()`,
  },
  'circle of views': {
    before: 'create view ring_0 as select 1 as a',
    each: 'create view ring_%1$s as select a from ring_%2$s; create or replace view ring_0 as select a from ring_%1$s',
  },
  'chain of domains': { before: 'create domain d_0 as int', each: 'create domain d_%1$s as d_%2$s' },
  'chain of heirs': { before: 'create table h_0 (a int)', each: 'create table h_%1$s () inherits (h_%2$s)' },
  'chain of materialized views': {
    before: 'create materialized view m_0 as select 1 as a',
    each: 'create materialized view m_%1$s as select a from m_%2$s',
  },
  'partition with keys and triggers': {
    before: `create table whole_2 (a int primary key) partition by list (a);
      create function fired () returns trigger language plpgsql as 'begin return null; end';
      create trigger fires after insert on whole_2 for each row execute function fired();
      create index on whole_2 ((a + 1));
      create table refers (a int references whole_2)`,
    each: 'create table part_2_%1$s partition of whole_2 for values in (%1$s)',
  },
  'table attached later': {
    before: 'create table whole_3 (a int) partition by list (a)',
    each: 'create table part_3_%1$s (a int); alter table whole_3 attach partition part_3_%1$s for values in (%1$s)',
  },
  'key to the next table': {
    before: 'create table key_0 (a int primary key)',
    each: `create table key_%1$s (a int primary key references key_%2$s);
      alter table key_0 add foreign key (a) references key_%1$s`,
  },
  'identity and serial': { each: 'create table i_%1$s (a int generated always as identity, b serial)' },
  sequence: { each: 'create sequence s_%1$s' },
  range: { each: 'create type r_%1$s as range (subtype = float8)' },
  'chain of ranges': {
    before: 'create type rr_0 as range (subtype = int)',
    each: 'create type rr_%1$s as range (subtype = rr_%2$s)',
  },
  cast: {
    before: 'create type cast_to as (a int)',
    each: `create type cast_%1$s as (a int);
      create function cast_%1$s (cast_%1$s) returns cast_to return row(1)::cast_to;
      create cast (cast_%1$s as cast_to) with function cast_%1$s (cast_%1$s)`,
  },
  operator: {
    before: 'create function adds (int, int) returns int return $1',
    each: `create type op_%1$s as enum ('a'); create function opf_%1$s (op_%1$s, op_%1$s) returns bool return true;
      create operator === (leftarg = op_%1$s, rightarg = op_%1$s, function = opf_%1$s, commutator = ===)`,
  },
  conversion: { each: `create conversion conv_%1$s for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8` },
  collation: { each: 'create collation coll_%1$s from "C"' },
  'text search': {
    each: `create text search dictionary td_%1$s (template = simple);
      create text search configuration tc_%1$s (parser = default);
      alter text search configuration tc_%1$s add mapping for word with td_%1$s`,
  },
  'domain with a check': {
    before: 'create function checks (int) returns bool language sql immutable return true',
    each: 'create domain dc_%1$s as int check (checks(value))',
  },
  'default and check': {
    before: 'create function given () returns int return 1',
    each: 'create table dt_%1$s (a int default given(), b int check (checks(b)), c int generated always as (1) stored)',
  },
  'part of one table': {
    before: 'create table parts_of (a int, b int)',
    each: `create trigger t_%1$s after insert on parts_of for each row execute function fired();
      create policy p_%1$s on parts_of using (checks(a)); create index on parts_of (a) where a > %1$s;
      create statistics st_%1$s on a, b from parts_of; create rule r_%1$s as on insert to parts_of do also select 1;
      alter table parts_of add column c_%1$s int default 1, add constraint ch_%1$s check (a <> %1$s)`,
  },
  'default privilege': {
    each: 'alter default privileges grant select on tables to public; create table dp_%1$s ()',
  },
}

test('any kind of object may be numerous, and no step takes more locks than allowed', async (t) => {
  const { createOrganization, createUser, service, admin } = await setup(t)
  const { name: organization } = await createOrganization()
  const member = await createUser({ organization })
  const { database, masterRole } = member.account
  const [step, count] = [30, 20]
  for (const [kind, { before = '', each }] of Object.entries(kinds)) {
    const many = Array.from({ length: count }, (_, i) =>
      each.replaceAll('%1$s', String(i + 1)).replaceAll('%2$s', String(i)),
    )
    await member
      .sql([before, ...many].join(';'))
      .catch((error: Error) => assert.fail(`${kind}: ${error.message}`))
  }
  await admin(smallSteps(step), [], database)
  await admin(dropCounting(masterRole, 3 * step), [], database)
  const { rows } = await admin(
    `select classid::regclass, count(*) from pg_shdepend where refobjid = $1::regrole and deptype = 'o' group by 1`,
    [masterRole],
    database,
  )
  const left = rows.reduce((total, row) => total + Number(row.count), 0)
  assert.ok(left <= step, JSON.stringify(rows))
  await deleteUser(service.services.installation, member.username)
  const { rowCount } = await admin('select from pg_roles where rolname = $1', [masterRole])
  assert.equal(rowCount, 0)
})

/** Runs the steps by hand and fails if one takes more locks than `most`: catalogs are locked besides. */
const dropCounting = (role: string, most: number) => `do $$
  declare
    locks int;
    goes_on bool := true;
  begin
    while goes_on loop
      goes_on := cartage.drop_some('{${role}}');
      select count(*) into locks from pg_locks
      where pid = pg_backend_pid() and (locktype = 'object' or locktype = 'relation' and relation >= 16384);
      if locks > ${most} then raise exception '% locks in one step', locks; end if;
      commit;
    end loop;
  end $$`

test("a deleted account leaves others' policies in steps, and policies for it alone are dropped", async (t) => {
  const { user, createUser, service, admin } = await setup(t)
  const leaving = await createUser()
  const { database, masterRole } = user.account
  await admin(smallSteps(20), [], database)
  await user.sql(`create table t (a int); do $$ begin for i in 1..30 loop
    execute format('create policy alone_%s on t to "${leaving.account.masterRole}"', i);
    execute format('create policy both_%s on t to "${leaving.account.masterRole}", "${masterRole}"', i);
  end loop; end $$`)
  await deleteUser(service.services.installation, leaving.username)
  const { rows } = await user.sql('select roles::text, count(*)::int as n from pg_policies group by 1')
  assert.deepEqual(rows, [{ roles: `{${masterRole}}`, n: 30 }])
})

test('the objects of a deleted key are handed over in steps, skipping a locked one', async (t) => {
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
     do $$ begin for i in 1..70 loop execute format('create sequence alone_%s', i); end loop; end $$;
     create table last (a int)`,
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
    assert.deepEqual(rows, [{ owner: masterRole, n: 134, last: true }])
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
  `create or replace function cartage.objects_per_step() returns integer language sql return ${objects}`
