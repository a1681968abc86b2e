import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { jobSession } from '../support/jobs/job-session.ts'
import { grantsOf, keyRolesOf, keysClient, refusal, roleOf, tablesOf } from '../support/keys/keys-client.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

const denied = '42501'
const refused = 'Validation failed: Grants can only grant table permissions you have'

test("insert on another member's table gives a key no more rights on its sequences than the user has", async (t) => {
  const { anna, bert, share, keyOn, roleOfKey } = await neighbours(t)
  await anna.sql('create table ser (id serial, v text)')
  await share('insert on ser')
  const insert = `insert into "${anna.username}".ser (v) values ('x')`
  const next = `select nextval('"${anna.username}".ser_id_seq')`
  assert.equal((await keyOn('k', 'ser', ['insert'])).status, 201)
  const roles = [bert.account.masterRole, await roleOfKey('k')]
  const refusals = () =>
    Promise.all(roles.flatMap((role) => [refusal(bert, role, insert), refusal(bert, role, next)]))
  const all = (answer: string | undefined) => [answer, answer, answer, answer]
  assert.deepEqual(await refusals(), all(denied))
  await anna.sql('alter table ser add column other serial')
  assert.deepEqual(await refusals(), all(denied))

  await share('usage on sequence ser_id_seq, ser_other_seq')
  assert.deepEqual(await refusals(), all(undefined))
  await anna.sql(`revoke usage on sequence ser_id_seq from "${bert.account.masterRole}"`)
  assert.deepEqual(await refusals(), all(denied))
})

test('deleting a key revokes its tables from other members and their keys', async (t) => {
  const { context, anna, bert, share, keyOn, roleOfKey } = await neighbours(t)
  await anna.sql(`create table secret as select 'hush' as word`)
  const made = await keysClient(anna).make('maker', [
    { type: 'apis', apis: ['sql'] },
    {
      type: 'database',
      tables: [{ schema: anna.username, name: 'secret', permissions: ['select'] }],
      schemas: [{ name: anna.username, permissions: ['create'] }],
    },
  ])
  const maker = await roleOf(context, anna, made.name)
  await anna.sql(
    'create table kt (x serial); create materialized view kmv as select * from secret',
    [],
    maker,
  )
  await share('select, insert on kt, kmv', maker)
  for (const table of ['kt', 'kmv']) assert.equal((await keyOn(table, table, ['select'])).status, 201)
  assert.equal((await keysClient(anna).remove('maker')).status, 200)
  await eventually(async () => assert.deepEqual(await keyRolesOf(context, anna), []))
  for (const table of ['kt', 'kmv']) {
    for (const role of [bert.account.masterRole, await roleOfKey(table)])
      assert.equal(await refusal(bert, role, `select * from "${anna.username}".${table}`), denied)
    assert.deepEqual(tablesOf((await keysClient(bert).read(table)).body), {})
  }
  await anna.sql('alter table kt add column mine int')
})

test('unsharing a table revokes it from any number of keys in one statement', async (t) => {
  const { context, anna, bert, share, keyOn, roleOfKey } = await neighbours(t)
  await anna.sql('create table wide (id int)')
  await share('select on wide')
  assert.equal((await keyOn('k', 'wide', ['select'])).status, 201)
  // As if the member had created them all, which takes minutes.
  const like = await roleOfKey('k')
  await context.admin(
    `do $$ declare made text; begin
       for number in 1..400 loop
         made := 'like_${like}_' || number;
         execute format('create role %I', made);
         execute format('grant select on %I.wide to %I', '${anna.username}', made);
         insert into cartage.roles select made, username, key_type from cartage.roles where role_name = '${like}';
         insert into cartage.grants (role_name, schema_name, table_name, permissions, relation, made_by)
         select made, schema_name, table_name, permissions, relation, made_by from cartage.grants where role_name = '${like}';
       end loop; end $$`,
    [],
    bert.account.database,
  )
  await anna.sql(`revoke select on wide from "${bert.account.masterRole}"`)
  assert.equal(await refusal(bert, like, `select * from "${anna.username}".wide`), denied)
  await context.admin(
    `do $$ begin
       for number in 1..400 loop execute format('drop role %I', 'like_${like}_' || number); end loop;
     end $$`,
    [],
    bert.account.database,
  )
})

test('a key cannot bypass row security, nor a view that checks the reader', async (t) => {
  const { anna, bert, share, keyOn } = await neighbours(t)
  const { masterRole } = bert.account
  await anna.sql(`
    create table rl (x text, priv bool); insert into rl values ('open', false), ('hush', true);
    alter table rl enable row level security;
    create policy everybody on rl for select using (true);
    create policy not_bert on rl as restrictive for select to "${masterRole}" using (not priv);
    create table plain as select * from rl;
    create function reader() returns text language sql stable as 'select current_user::text';
    create view over_rl as select * from rl;
    create view over_view as select * from over_rl;
    create view by_name as select * from plain where current_user <> '${masterRole}';
    create view by_session as select * from plain where session_user <> '${masterRole}';
    create view by_role as select * from plain where not pg_has_role('${masterRole}', 'member');
    create view by_setting as select * from plain where current_setting('role') <> '${masterRole}';
    create view by_function as select * from plain where reader() <> '${masterRole}';
    create view by_alias as select * from plain where getpgusername() <> '${masterRole}';
    create view by_settings as select * from plain where exists (select from pg_settings where name = 'search_path');
    create view by_schema as select * from plain where current_schema <> '${bert.username}';
    create view by_family as select * from plain where not cartodb._CDB_MayPrepare('${masterRole}');
    create view by_services as select * from plain where cartodb.CDB_Services() = '{}';
    create view for_all as select lower(x) as x, cartodb.CDB_LatLng(1, 2) as place from plain;
    create materialized view kept as select x from rl where not priv`)
  const asking = [
    'rl',
    'over_rl',
    'over_view',
    'by_name',
    'by_session',
    'by_role',
    'by_setting',
    'by_function',
    'by_alias',
    'by_settings',
    'by_schema',
    'by_family',
    'by_services',
  ]
  const open = ['plain', 'for_all', 'kept']
  await share(`select on ${[...asking, ...open].join()}`)
  assert.equal((await bert.sql(`select * from "${anna.username}".rl`)).rowCount, 1)
  for (const table of asking) {
    const { status, body } = await keyOn(table, table, ['select'])
    assert.deepEqual([status, body.errors], [422, refused], table)
  }
  for (const table of open) assert.equal((await keyOn(table, table, ['select'])).status, 201, table)
})

test("a key loses another member's table when row security is enabled on it or on what it reads", async (t) => {
  const { anna, bert, share, keyOn, roleOfKey } = await neighbours(t)
  const ways: readonly (readonly [made: string, begun: string])[] = [
    ['create table one (x text)', 'alter table one enable row level security'],
    [
      'create table under (x text); create view two as select * from under',
      'alter table under enable row level security',
    ],
    [
      'create view three as select 1 as x',
      'create or replace view three as select 1 as x where current_user <> $$x$$',
    ],
    [
      'create table four (x text)',
      'do $$ begin execute $q$ alter table four enable row level security $q$; end $$',
    ],
    [
      'create table five (x text)',
      'drop table five; create table five (x text); alter table five enable row level security',
    ],
  ]
  for (const [index, [made, begun]] of ways.entries()) {
    const name = ['one', 'two', 'three', 'four', 'five'][index]!
    await anna.sql(made)
    await share(`select on ${name}`)
    assert.equal((await keyOn(name, name, ['select'])).status, 201, name)
    const role = await roleOfKey(name)
    assert.equal(await refusal(bert, role, `select * from "${anna.username}".${name}`), undefined, name)
    await anna.sql(begun)
    assert.equal(await refusal(bert, role, `select * from "${anna.username}".${name}`), denied, name)
  }
})

test('a transaction that cannot see the newest keys cannot unshare a table', async (t) => {
  const { context, anna, bert, share, keyOn, roleOfKey } = await neighbours(t)
  await anna.sql('create table rr (id int)')
  await share('select on rr')
  const table = `"${anna.username}".rr`
  const session = await jobSession(t, context, anna)
  await session.query(`begin isolation level repeatable read; select from ${table}`)
  assert.equal((await keyOn('k', 'rr', ['select'])).status, 201)
  const revoke = `revoke select on ${table} from "${bert.account.masterRole}"`
  await assert.rejects(session.query(revoke), { code: '25001' })
  await session.query('rollback')
  await session.query(revoke)
  assert.equal(await refusal(bert, await roleOfKey('k'), `select * from ${table}`), denied)
})

test("row security on the user's own tables does not keep a key from being granted them", async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql(`create table mine (x text, owner text); alter table mine enable row level security`)
  await keysClient(user).make('k', grantsOf({ mine: ['select'] }))
  const role = await roleOf(context, user, 'k')
  await user.sql(`insert into mine values ('a', '${role}'), ('b', 'other');
    create policy own on mine using (owner = current_user)`)
  assert.equal((await user.sql('select * from mine', [], role)).rowCount, 1)
})

/** Two members of an organization; `share` and `keyOn` act on objects of anna's schema. */
async function neighbours(t: TestContext) {
  const context = await setup(t)
  const { name: organization, owner: anna } = await context.createOrganization()
  const bert: TestUser = await context.createUser({ organization })
  const { masterRole } = bert.account
  await anna.sql(`grant usage on schema "${anna.username}" to "${masterRole}"`)
  return {
    context,
    anna,
    bert,
    share: (what: string, role?: string) => anna.sql(`grant ${what} to "${masterRole}"`, [], role),
    keyOn: (name: string, table: string, permissions: readonly string[]) =>
      keysClient(bert).create(name, [
        { type: 'apis', apis: ['sql'] },
        { type: 'database', tables: [{ schema: anna.username, name: table, permissions }] },
      ]),
    roleOfKey: (name: string) => roleOf(context, bert, name),
  }
}
