import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { listAudit } from '../../src/audit/audit-store.ts'
import { collectTableNotes } from '../../src/audit/collect-table-notes.ts'
import { placeOf } from '../../src/audit/table-note-store.ts'
import { createClient } from '../../src/client/client.ts'
import { ask } from '../support/http/ask.ts'
import { cartage, installation } from '../support/http/call.ts'
import { setupImports } from '../support/imports/import-api.ts'
import { keysClient } from '../support/keys/keys-client.ts'
import { openSession } from '../support/postgres/tenant-session.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('dropping, renaming or publishing a table is audited with the key that did it', async (t) => {
  const bundle = await setup(t)
  const { user, url } = bundle
  const { token } = await keysClient(user).make('maker', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', schemas: [{ name: 'public', permissions: ['create'] }] },
  ])
  const run = async (sql: string, api_key = user.masterToken) => {
    const { status, body } = await ask(user, sql, { api_key })
    assert.equal(status, 200, JSON.stringify(body))
  }
  await run('create table a (n int); create table b (n int); create view seen as select n from b')
  await run('create table made (n int)', token)
  await run('alter table made rename to "Made"', token)
  await run('drop table "Made"', token)
  await run('create schema other; alter table a set schema other')
  await run('drop table b cascade')
  const client = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  t.after(() => client.close())
  await run('create table c (n int)')
  await client.tables.setPrivacy('c', 'PUBLIC')
  await client.tables.setPrivacy('c', 'PUBLIC')
  await run(`grant select on c to "${user.account.masterRole}"`)
  await run('grant select (n) on other.a to public')
  const expected = [
    ['maker', 'table.renamed', 'public.made', { renamed_to: 'public."Made"' }],
    ['maker', 'table.dropped', 'public."Made"', { kind: 'table' }],
    ['Master', 'table.renamed', 'public.a', { renamed_to: 'other.a' }],
    ['Master', 'table.dropped', 'public.b', { kind: 'table' }],
    ['Master', 'table.dropped', 'public.seen', { kind: 'view' }],
    ['Master', 'table.published', 'public.c', {}],
    ['Master', 'table.published', 'other.a', {}],
  ]
  await eventually(async () => assert.deepEqual(await recorded(bundle, user), expected))
  assert.deepEqual((await notes(bundle, user)).length, 0)
  const { out } = await cartage(installation(bundle), 'audit', '--user', user.username, '--format', 'ndjson')
  const shown = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const first = shown.findLast(({ action }) => action === 'table.renamed')
  assert.deepEqual([first.actor, first.account], [user.username, user.username])
})

test('default privileges that make future tables public are audited', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  await user.sql(
    `alter default privileges in schema public grant select on tables to ${user.account.publicRole}`,
  )
  await user.sql(
    `alter default privileges in schema public grant insert on tables to ${user.account.publicRole}`,
  )
  await user.sql('create table open (n int)')
  await eventually(async () =>
    assert.deepEqual(await recorded(bundle, user), [
      ['Master', 'table.published', 'public.*', { from_now_on: true }],
      ['Master', 'table.published', 'public.open', {}],
    ]),
  )
})

test('temporary tables, tables of the same transaction and rolled back changes are not audited', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  await user.sql('create table kept (n int); create view seen as select 1 as n')
  await user.sql('create temp table t (n int); alter table t rename to u; drop table u')
  await user.sql('begin; create table s (n int); alter table s rename to s2; drop table s2; commit')
  await user.sql('begin; alter table kept rename to lost; drop table lost; rollback')
  await user.sql('begin; savepoint a; drop table kept; rollback to a; commit')
  assert.deepEqual(await notes(bundle, user), [])
  // A view that is replaced is still the view others know.
  await user.sql('begin; create or replace view seen as select 1 as n; drop view seen; commit')
  await eventually(async () =>
    assert.deepEqual(await recorded(bundle, user), [
      ['Master', 'table.dropped', 'public.seen', { kind: 'view' }],
    ]),
  )
})

test('a transaction with an old snapshot hides nothing', async (t) => {
  const bundle = await setup(t)
  const { user, admin } = bundle
  await user.sql('create table known (n int)')
  const full = `insert into cartage.table_notes (username, role_name, action, account, details)
    values ($1, $2, 'table.unnoted', $1, '{}')`
  await admin(full, [user.username, user.account.masterRole], user.account.database)
  const old = await openSession(t, bundle, user)
  // Its transaction ids are older too.
  await old.query(`begin isolation level repeatable read; select age('3'::xid)`)
  await eventually(async () => assert.deepEqual(await notes(bundle, user), []))
  await user.sql('create table newer (n int); create view seen as select 1 as n')
  await old.query('savepoint a; create table made (n int); release a; drop table made')
  await old.query('alter table newer add m int; create or replace view seen as select 1 as n')
  await old.query('grant select on newer to public')
  await old.query('drop table newer; drop view seen; drop table known; commit')
  const dropped = async () =>
    (await recorded(bundle, user))
      .filter(([, action]) => action === 'table.dropped')
      .map(([, , name]) => name)
  await eventually(async () =>
    assert.deepEqual(await dropped(), ['public.newer', 'public.seen', 'public.known']),
  )
  const published = (await recorded(bundle, user)).filter(([, action]) => action === 'table.published')
  assert.deepEqual(
    published.map(([, , name]) => name),
    ['public.newer'],
  )
})

test('the acts of one transaction are audited in order, however fast they were', async (t) => {
  const bundle = await setup(t)
  const names = Array.from({ length: 60 }, (_, n) => `t${n}`)
  const each = (text: (name: string) => string) => names.map(text).join('; ')
  await bundle.user.sql(each((name) => `create table ${name} ()`))
  await bundle.user.sql(each((name) => `drop table ${name}`))
  await eventually(async () =>
    assert.deepEqual(
      (await recorded(bundle, bundle.user)).map(([, , name]) => name),
      names.map((name) => `public.${name}`),
    ),
  )
  // Two acts in one millisecond have different times too, so the order does not depend on how PostgreSQL reads the
  // notes.
  const { rows } = await bundle.service.services.databases.control.query<{ times: number }>(
    'select count(distinct at)::integer as times from cartage.audit where account = $1 and note_id is not null',
    [bundle.user.username],
  )
  assert.equal(rows[0]?.times, names.length)
})

test("an import that makes its table public is audited, under the table's name", async (t) => {
  const bundle = await setupImports(t)
  const { load, user } = bundle
  await load('t.csv', 'a\n1\n', { privacy: 'public' })
  await load('t.csv', 'a\n2\n', { collision_strategy: 'overwrite' })
  await load('t.csv', 'a\n3\n', { collision_strategy: 'skip' })
  await user.sql('drop table t')
  await eventually(async () =>
    assert.deepEqual(await recorded(bundle, user), [
      ['Master', 'table.published', 'public.t', {}],
      ['Master', 'table.dropped', 'public.t', { kind: 'table' }],
    ]),
  )
})

test('no tenant can read, write, forge, remove or prevent a note', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  await user.sql('create table a (n int)')
  await user.sql(
    `create function public.gen_random_uuid() returns uuid language sql as 'select null::uuid';
     create function public.aclexplode(aclitem[]) returns setof record language sql as 'select 1';
     create function public.cdb_username() returns text language sql as $$ select 'someone' $$;
     create function public.pg_event_trigger_dropped_objects() returns setof record language sql as 'select 1'`,
  )
  const attacks = [
    'select * from cartage.table_notes',
    'delete from cartage.table_notes',
    'truncate cartage.table_notes',
    'begin; lock table cartage.table_notes',
    `insert into cartage.table_notes (username, role_name, action, account, details)
     values ('someone', 'someone', 'table.dropped', 'someone', '{}')`,
    'insert into cartage.made_tables select pg_current_xact_id(), oid from pg_class',
    `select cartage.note_tables(array[cartage.new_note('table.dropped', 'public', 'x', '{}')])`,
    'select cartage.note_dropped()',
    'drop event trigger cartage_note_dropped',
    'alter event trigger cartage_note_changed disable',
    'drop function cartage.note_changed()',
    'set session_replication_role = replica',
    'set session authorization default; alter table cartage.table_notes disable trigger all',
  ]
  for (const attack of attacks)
    await assert.rejects(user.sql(attack), /denied|must be owner|cannot|does not exist/, attack)
  assert.deepEqual(await notes(bundle, user), [])
  await user.sql(
    `set search_path = public, pg_catalog; begin; set constraints all immediate; drop table a; commit`,
  )
  await eventually(async () =>
    assert.deepEqual(await recorded(bundle, user), [
      ['Master', 'table.dropped', 'public.a', { kind: 'table' }],
    ]),
  )
})

test('in an organization a table is audited for its account, with the member who changed it', async (t) => {
  const bundle = await setup(t)
  const { name: organization, owner } = await bundle.createOrganization()
  const member = await bundle.createUser({ organization })
  await owner.sql('create table shared (n int)')
  await owner.sql(
    `create function take_away() returns void language sql security definer as $$ drop table "${owner.account.schema}".shared $$;
     grant usage on schema "${owner.account.schema}" to "${member.account.masterRole}"`,
  )
  await member.sql(`select "${owner.account.schema}".take_away()`)
  await eventually(async () => {
    const records = await tableRecords(bundle, owner)
    assert.deepEqual(
      records.map(({ actor, action }) => [actor, action]),
      [[member.username, 'table.dropped']],
    )
  })
})

test('a user who drops thousands of tables fills neither the disk nor the audit record', async (t) => {
  const bundle = await setup(t)
  const { user, service } = bundle
  await user.sql(
    `create schema many; do $$ begin for i in 1..1300 loop execute 'create view many.v' || i || ' as select 1 as n'; end loop; end $$`,
  )
  await user.sql('drop schema many cascade')
  await eventually(async () => {
    const actions = (await tableRecords(bundle, user)).map(({ action }) => action)
    assert.ok(actions.includes('table.unnoted'))
    assert.deepEqual(await notes(bundle, user), [])
  })
  await makeAndDrop(user, 'more')
  await eventually(async () => {
    const { control } = service.services.databases
    const [newest] = await listAudit(control, { account: user.username, action: 'table.dropped', limit: 1 })
    assert.deepEqual([newest?.subject, newest?.details.key], [null, 'Master'])
  })
  const records = await tableRecords(bundle, user)
  assert.ok(records.length <= 1_003, String(records.length))
})

test('a note is audited once, however many processes collect it and wherever one is interrupted', async (t) => {
  const bundle = await setup(t)
  const { user, service, admin } = bundle
  const { databases } = service.services
  const place = (await placeOf(databases.control, user.account.hostId, user.account.database))!
  // The delete of notes fails: a collection ends after it has recorded them.
  const { database } = place
  await admin(
    `create function cartage.refuse() returns trigger language plpgsql as $$ begin raise exception 'cut off'; end $$;
     create trigger refuse before delete on cartage.table_notes for each statement execute function cartage.refuse()`,
    [],
    database,
  )
  await makeAndDrop(user, 'a')
  await eventually(async () => assert.equal((await tableRecords(bundle, user)).length, 1))
  const cutOff = [1, 2, 3].map(() => collectTableNotes(databases, place))
  const ends = await Promise.allSettled(cutOff)
  assert.ok(ends.some(({ status }) => status === 'rejected'))
  assert.equal((await notes(bundle, user)).length, 1)
  await makeAndDrop(user, 'b')
  await admin('drop trigger refuse on cartage.table_notes', [], database)
  await Promise.all([1, 2, 3, 4].map(() => collectTableNotes(databases, place)))
  await eventually(async () => assert.deepEqual(await notes(bundle, user), []))
  assert.deepEqual(
    (await recorded(bundle, user)).map(([, , subject]) => subject),
    ['public.a', 'public.b'],
  )
  const { rows } = await databases.control.query(
    'select from cartage.collected_notes where database_id = $1',
    [place.databaseId],
  )
  assert.equal(rows.length, 0)
})

test('a note that a restore brings back is not audited again', async (t) => {
  const bundle = await setup(t)
  const { user, admin } = bundle
  const { database } = user.account
  await admin(
    `create table cartage.backup as table cartage.table_notes;
     create function cartage.keep() returns trigger language plpgsql as $$ begin insert into cartage.backup select new.*; return null; end $$;
     create trigger keep after insert on cartage.table_notes for each row execute function cartage.keep();
     alter function cartage.keep() security definer`,
    [],
    database,
  )
  await makeAndDrop(user, 'a')
  await eventually(async () => {
    assert.equal((await tableRecords(bundle, user)).length, 1)
    assert.deepEqual(await notes(bundle, user), [])
  })
  await admin(
    'drop trigger keep on cartage.table_notes; insert into cartage.table_notes table cartage.backup',
    [],
    database,
  )
  await makeAndDrop(user, 'b')
  await eventually(async () => assert.deepEqual(await notes(bundle, user), []))
  assert.deepEqual(
    (await recorded(bundle, user)).map(([, , subject]) => subject),
    ['public.a', 'public.b'],
  )
})

test('a collection ends although a tenant keeps adding notes', async (t) => {
  const bundle = await setup(t)
  const { user, service, admin } = bundle
  const { databases } = service.services
  const place = (await placeOf(databases.control, user.account.hostId, user.account.database))!
  // As fast as possible: each collected note adds the next.
  await admin(
    `create function cartage.again() returns trigger language plpgsql as $$ begin
       insert into cartage.table_notes (username, role_name, action, account, details)
       values (old.username, old.role_name, old.action, old.account, '{}'); return null; end $$;
     create trigger again after delete on cartage.table_notes for each row execute function cartage.again()`,
    [],
    place.database,
  )
  await makeAndDrop(user, 'a')
  assert.equal(await collectTableNotes(databases, place, 3), false)
})

test('the last changes of a deleted user are in the audit record', async (t) => {
  const bundle = await setup(t)
  const user = await bundle.createUser()
  await makeAndDrop(user, 'a')
  await deleteUser(bundle.service.services.installation, user.username)
  const subjects = (await tableRecords(bundle, user)).map(({ subject }) => subject)
  assert.deepEqual(subjects, ['public.a'])
})

test("a table that the operator makes public is audited as the operator's act", async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  await user.sql('create table a (n int)')
  const { code, err } = await cartage(installation(bundle), 'table', 'share', user.username, 'a')
  assert.equal(code, 0, err)
  // Notes are collected in order.
  await user.sql('drop table a')
  await eventually(async () => {
    const records = await tableRecords(bundle, user)
    assert.deepEqual(
      records.map(({ actor, action, subject }) => [actor, action, subject]),
      [
        ['operator', 'table.published', 'a'],
        [user.username, 'table.dropped', 'public.a'],
      ],
    )
  })
})

/** In two transactions. */
async function makeAndDrop(user: TestUser, table: string) {
  await user.sql(`create table ${table} (n int)`)
  await user.sql(`drop table ${table}`)
}

/** Oldest first. */
async function tableRecords({ service }: Pick<Setup, 'service'>, user: TestUser) {
  const { control } = service.services.databases
  const records = await listAudit(control, { account: user.username, limit: 2_000 })
  return records.filter(({ action }) => action.startsWith('table.')).toReversed()
}

async function recorded(bundle: Pick<Setup, 'service'>, user: TestUser) {
  const records = await tableRecords(bundle, user)
  return records.map(({ action, subject, details: { key, ...rest } }) => [key, action, subject, rest])
}

async function notes({ admin }: Pick<Setup, 'admin'>, { account }: TestUser) {
  const { rows } = await admin('select * from cartage.table_notes order by at', [], account.database)
  return rows
}
