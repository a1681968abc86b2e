import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keyRolesOf, keysClient, refusal, roleOf, tablesOf } from '../support/keys-client.ts'
import { eventually, setup, type TestUser } from '../support/setup.ts'

const denied = '42501'

test('insert on a table of another member gives no more of its sequences than the user has', async (t) => {
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

test('a key whose table another member shares on is deleted to the end', async (t) => {
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

test('a table is taken back from however many keys at once', async (t) => {
  const { context, anna, bert, share, keyOn, roleOfKey } = await neighbours(t)
  await anna.sql('create table wide (id int)')
  await share('select on wide')
  assert.equal((await keyOn('k', 'wide', ['select'])).status, 201)
  // As if the member had made them all, which takes minutes.
  const like = await roleOfKey('k')
  await context.admin(
    `do $$ declare made text; begin
       for number in 1..1000 loop
         made := '${like}0' || number;
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
})

/** Two members of an organization; `share` and `keyOn` are about objects of anna's schema. */
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
