import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { grantsOf, keyRolesOf, keysClient } from '../support/keys/keys-client.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const refused = 'Validation failed: Grants can only grant table permissions you have'

const overtaken: readonly (readonly [what: string, made: string, change: string])[] = [
  ['dropped', 'create table t (id int)', 'drop table t'],
  ['renamed', 'create table t (id serial)', 'alter table t rename to u'],
  ['replaced by a sequence', 'create table t (id int)', 'drop table t; create sequence t'],
  ['moved away', 'create table t (id int); create schema s', 'alter table t set schema s'],
]

for (const [what, made, change] of overtaken) {
  test(`a table that is ${what} while its key is created is refused like a missing one`, async (t) => {
    const context = await setup(t)
    const { user } = context
    await user.sql(made)
    const release = await holdAdmission(context, user)
    const answer = keysClient(user).create('k', grantsOf({ t: ['select', 'insert'] }))
    await release.whenWaitedFor()
    await user.sql(change)
    await release.now()
    const { status, body } = await answer
    assert.deepEqual([status, body.errors], [422, refused])
    assert.deepEqual(await keyRolesOf(context, user), [])
  })
}

test('a schema that is dropped while its key is created is refused like a missing one', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql('create schema s')
  const release = await holdAdmission(context, user)
  const answer = keysClient(user).create('k', grantsOf({}, ['s']))
  await release.whenWaitedFor()
  await user.sql('drop schema s')
  await release.now()
  const { status, body } = await answer
  assert.deepEqual(
    [status, body.errors],
    [422, 'Validation failed: Grants can only grant schema permissions you have'],
  )
})

test('a permission that another member revokes while the key is created is not granted', async (t) => {
  const context = await setup(t)
  const { name: organization, owner } = await context.createOrganization()
  const member = await context.createUser({ organization })
  const { masterRole } = member.account
  await owner.sql(`create table shared (id int); grant usage on schema "${owner.username}" to "${masterRole}";
    grant select, update on shared to "${masterRole}"`)
  const release = await holdAdmission(context, member)
  const tables = [{ schema: owner.username, name: 'shared', permissions: ['select', 'update'] }]
  const answer = keysClient(member).create('k', [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', tables },
  ])
  await release.whenWaitedFor()
  await owner.sql(`revoke update on shared from "${masterRole}"`)
  await release.now()
  const { status, body } = await answer
  assert.deepEqual([status, body.errors], [422, refused])
})

/** Stops the creation of a key after its grants were checked, before they are granted. */
async function holdAdmission({ keys, admin }: Setup, { account }: TestUser) {
  const holder = new pg.Client({ connectionString: withDatabase(keys.adminUrl, account.database) })
  await holder.connect()
  holder.on('error', () => undefined)
  await holder.query('begin')
  await holder.query('select from cartage.accounts where username = $1 for update', [account.username])
  return {
    whenWaitedFor: () =>
      eventually(async () => {
        const { rowCount } = await admin(
          `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock' and query ~ 'admit_key'`,
          [account.database],
        )
        assert.equal(rowCount, 1)
      }),
    now: () => holder.end(),
  }
}
