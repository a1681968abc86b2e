import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { deleteUser } from '../../../src/accounts/delete-user.ts'
import { jobSession } from '../../support/jobs/job-session.ts'
import { grantsOf, keysClient, roleOf } from '../../support/keys/keys-client.ts'
import { sleepingBackend, whileStopped } from '../../support/postgres/stopped-backend.ts'
import { eventually, type Setup, setup, type TestUser } from '../../support/service/setup.ts'

test('a GRANT without effect by a role that is not the owner is refused, so that it takes no lock', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (a int); create sequence s')
  const key = (await keysClient(user).make('k', grantsOf({ t: ['select', 'insert'] }, ['public']))).token
  for (const idle of [
    'grant select on t to current_user',
    'revoke select on t from current_user',
    'grant usage, create on schema public to current_user',
    'grant usage on schema cartodb to current_user',
    'grant execute on function now() to current_user',
    'grant usage on language plpgsql to current_user',
    'grant usage on type pg_catalog.int4 to current_user',
    `do $$ begin begin grant select on t to current_user; exception when others then
      raise exception 'still %', sqlerrm using errcode = sqlstate; end; end $$`,
  ]) {
    const { status, text } = await ask(user, `begin; ${idle}; commit`, key)
    assert.deepEqual([status, /not yours to grant/.test(text)], [403, true], `${idle}: ${text}`)
  }
  for (const idle of [
    'grant usage on schema cartodb to public',
    'grant execute on function now() to public',
  ]) {
    assert.equal((await ask(user, idle, user.masterToken)).status, 403, idle)
  }
  for (const own of [
    `create table mine (a int); grant select on mine to "${user.account.publicRole}"`,
    `revoke select on mine from "${user.account.publicRole}"`,
  ]) {
    const { status, text } = await ask(user, own, key)
    assert.equal(status, 200, text)
  }
  for (const own of [
    `grant select on t, mine to "${user.account.publicRole}"`,
    `revoke all on all tables in schema public from "${user.account.publicRole}"`,
    `create schema extra; grant usage on schema extra to "${user.account.publicRole}"`,
    `create function one() returns int language sql return 1; revoke execute on function one() from public`,
    `alter table t add column b int; grant select (b) on t to "${user.account.publicRole}"`,
  ]) {
    const { status, text } = await ask(user, own, user.masterToken)
    assert.equal(status, 200, text)
  }
})

test('only the owner can grant an object, because other grants could not be revoked reliably', async (t) => {
  const { user: victim, createOrganization, createUser, admin } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await owner.sql(`create table t (a int); grant usage on schema "${owner.username}" to public;
    grant select on t to "${member.account.masterRole}" with grant option`)
  for (const role of [victim.account.masterRole, member.account.publicRole]) {
    const passedOn = await ask(
      member,
      `grant select on "${owner.username}".t to "${role}"`,
      member.masterToken,
    )
    assert.equal(passedOn.status, 403, passedOn.text)
  }
  const { rows } = await admin(
    `select acl.grantor = relowner as by_owner from pg_class, aclexplode(relacl) acl where relname = 't' group by 1`,
    [],
    owner.account.database,
  )
  assert.deepEqual(rows, [{ by_owner: true }])
})

test("keys are created and deleted while a statement that ignores signals locks the database's row", async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql('create table t (a int)')
  const keys = keysClient(user)
  const holder = await keys.make('holder')
  const leaving = await keys.make('leaving', grantsOf({ t: ['select'] }, ['public']))
  const { database } = user.account
  let token = ''
  const pid = await hold(
    t,
    house,
    user,
    `begin; grant connect on database "${database}" to public`,
    holder.token,
  )
  await whileStopped(pid, async () => {
    const made = await inTime(() => keys.create('new', grantsOf({ t: ['select'] }, ['public'])))
    assert.equal(made.status, 201)
    token = (made.body as { token: string }).token
    assert.equal((await ask(user, 'create table mine as select * from t', token)).status, 200)
    assert.equal((await inTime(() => keys.remove('leaving'))).status, 200)
    assert.equal((await ask(user, 'select 1', leaving.token)).status, 401)
    assert.equal((await inTime(() => keys.remove('holder'))).status, 200)
    await holds(house, user)
  })
  await eventually(
    async () => assert.equal((await ask(user, 'create temp table x as select 1', token)).status, 200),
    60_000,
  )
})

test('a deleted key that locks its own role in such a statement can do nothing more', async (t) => {
  const house = await setup(t)
  const { user, admin } = house
  await user.sql('create table t (a int)')
  const { token } = await keysClient(user).make('k', grantsOf({ t: ['select'] }, ['public']))
  const role = await roleOf(house, user, 'k')
  const pid = await hold(t, house, user, `begin; alter role current_user password 'mine'`, token)
  await whileStopped(pid, async () => {
    assert.equal((await inTime(() => keysClient(user).remove('k'))).status, 200)
    await holds(house, user)
    const { rows } = await admin(
      `select has_database_privilege($1, current_database(), 'connect') as connects,
         has_table_privilege($1, 'public.t', 'select') as reads, has_schema_privilege($1, 'public', 'create') as makes`,
      [role],
      user.account.database,
    )
    assert.deepEqual(rows, [{ connects: false, reads: false, makes: false }])
    await assert.rejects(user.sql('select 1', [], role))
  })
  await eventually(async () => {
    const left = await admin('select from pg_roles where rolname = $1', [role])
    assert.equal(left.rowCount, 0)
  }, 60_000)
})

async function hold(t: TestContext, house: Setup, user: TestUser, begin: string, token: string) {
  const leave = new AbortController()
  t.after(() => leave.abort())
  ask(user, `${begin}; select pg_sleep(600)`, token, leave.signal).catch(() => undefined)
  return sleepingBackend(house, user)
}

/** It is running and ignores signals. */
async function holds({ admin }: Setup, user: TestUser): Promise<void> {
  const { rowCount } = await admin(
    `select from pg_stat_activity where datname = $1 and state = 'active' and query ~ 'pg_sleep' and pid <> pg_backend_pid()`,
    [user.account.database],
  )
  assert.equal(rowCount, 1)
}

async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  const ms = Math.round(performance.now() - startedAt)
  assert.ok(ms < 10_000, `took ${ms} ms`)
  return result
}

test("an uncommitted grant to another account's role does not prevent its deletion", async (t) => {
  const house = await setup(t)
  const { user, createUser, service, admin } = house
  const leaving = await createUser()
  await user.sql('create table t (a int)')
  const holder = await jobSession(t, house, user)
  const { masterRole, publicRole } = leaving.account
  await user.sql(`grant select on t to "${publicRole}"`)
  await holder.query(`begin; grant insert on t to "${masterRole}", "${publicRole}"`)
  await deleteUser(service.services.installation, leaving.username)
  const { rows } = await admin('select rolname from pg_roles where rolname like $1', [`${masterRole}%`])
  assert.deepEqual(rows, [])
})

async function ask({ base }: TestUser, q: string, token: string, signal?: AbortSignal) {
  const response = await fetch(`${base}/api/v2/sql`, {
    method: 'POST',
    body: new URLSearchParams({ q, api_key: token }),
    signal: signal ?? null,
  })
  return { status: response.status, text: await response.text() }
}
