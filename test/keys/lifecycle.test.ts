import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { leaseMs } from '../../src/auth/cache-lease.ts'
import { registerLease } from '../../src/auth/lease-store.ts'
import { createKeyRole } from '../../src/keys/key-role.ts'
import { repairKeys } from '../../src/keys/repair-keys.ts'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { grantsOf, keyRolesOf, keysClient, roleOf, tablesOf } from '../support/keys/keys-client.ts'
import { scriptArgs } from '../support/service/script.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

/** Starts a second service process on the same databases: its pools, caches and listeners are its own. */
async function twoNodes(t: TestContext) {
  const context = await setup(t)
  const { service, keys, user } = context
  const other = await startService(
    service.services.config,
    keys,
    { http: true, worker: false },
    createLog('error'),
  )
  t.after(() => other.stop())
  return { ...context, there: { ...user, base: `${other.url}/user/${user.username}` } as TestUser }
}

const statusOf = async (user: TestUser, token: string, q = 'select 1') =>
  (await fetch(`${user.base}/api/v2/sql?${new URLSearchParams({ q, api_key: token })}`)).status

test('two concurrent creations of one name give one 201 and one 422', async (t) => {
  const { user, there } = await twoNodes(t)
  for (let round = 0; round < 8; round += 1) {
    const answers = await Promise.all(
      [user, there, user, there].map((node) => keysClient(node).create(`k${round}`, grantsOf())),
    )
    const statuses = answers.map((answer) => answer.status).sort()
    assert.deepEqual(statuses, [201, 422, 422, 422])
    for (const { status, body } of answers) {
      if (status === 422) assert.equal(body.errors, 'Validation failed: Name has already been taken')
    }
  }
  assert.equal((await keysClient(user).list('?type=regular')).body.total, 8)
})

test('concurrent creations, regenerations and deletions of many keys do not disturb each other', async (t) => {
  const context = await twoNodes(t)
  const { user, there } = context
  await user.sql('create table t (id serial)')
  const names = Array.from({ length: 24 }, (_, number) => `k${number}`)
  const node = (number: number) => keysClient(number % 2 ? user : there)
  const made = await Promise.all(
    names.map((name, number) => node(number).create(name, grantsOf({ t: ['insert'] }))),
  )
  assert.deepEqual(new Set(made.map(({ status }) => status)), new Set([201]))
  const ended = await Promise.all(
    names.map((name, number) => (number % 3 ? node(number).remove(name) : node(number).regenerate(name))),
  )
  assert.deepEqual(new Set(ended.map(({ status }) => status)), new Set([200]))
  assert.equal((await keysClient(user).list('?type=regular')).body.total, 8)
  // If another deletion holds objects of a role for more than half a second, the role is dropped after the answer.
  await eventually(async () => assert.equal((await keyRolesOf(context, user)).length, 8))
})

test('of two concurrent deletions one finds no key any more', async (t) => {
  const { user, there } = await twoNodes(t)
  await keysClient(user).make('k')
  const answers = await Promise.all([user, there].map((node) => keysClient(node).remove('k')))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404])
})

test('a regenerated or deleted token fails on the next request on every node', async (t) => {
  const { user, there } = await twoNodes(t)
  const keys = keysClient(user)
  let { token } = await keys.make('k')
  for (let round = 0; round < 15; round += 1) {
    assert.deepEqual([await statusOf(there, token), await statusOf(user, token)], [200, 200])
    const old = token
    token = (await keys.regenerate('k')).body.token
    assert.deepEqual([await statusOf(there, old), await statusOf(user, old)], [401, 401])
  }
  assert.deepEqual([await statusOf(there, token), await statusOf(user, token)], [200, 200])
  await keys.remove('k')
  assert.deepEqual([await statusOf(there, token), await statusOf(user, token)], [401, 401])
})

test('running statements of a regenerated or deleted key are refused, and its pooled connections closed', async (t) => {
  const context = await twoNodes(t)
  const { user, there, admin } = context
  const keys = keysClient(user)
  const made = await keys.make('k')
  const role = await roleOf(context, user, 'k')
  const { rows } = await admin('select oid from pg_roles where rolname = $1', [role])
  const sessions = async () =>
    (
      await admin(
        `select wait_event is not distinct from 'PgSleep' as "isAsleep" from pg_stat_activity where usesysid = $1`,
        [rows[0].oid],
      )
    ).rows
  const running = async (token: string) => {
    const answers = [user, there].map((node) => statusOf(node, token, 'select pg_sleep(60)'))
    // A request still logging in would log in again, be refused, and leave its session in the pool.
    await eventually(async () => assert.deepEqual(await sessions(), [{ isAsleep: true }, { isAsleep: true }]))
    return answers
  }
  const first = await running(made.token)
  const { body } = await keys.regenerate('k')
  assert.deepEqual(await Promise.all(first), [401, 401])
  assert.deepEqual(await sessions(), [])
  const second = await running(body.token)
  await keys.remove('k')
  assert.deepEqual(await Promise.all(second), [401, 401])
  assert.deepEqual(await sessions(), [])
})

test('a key can be created while its table is being altered', async (t) => {
  const { user, service, admin } = await setup(t)
  await user.sql('create table t (id int)')
  const role = user.account.masterRole
  const tenant = new pg.Client({
    ...service.services.databases.hosts.get(user.account.hostId).addresses[0],
    user: role,
    password: service.services.secrets.rolePassword(role),
    database: user.account.database,
  })
  tenant.on('error', () => undefined)
  await tenant.connect()
  t.after(() => tenant.end())
  for (let round = 0; round < 5; round += 1) {
    await tenant.query(`begin; alter table t add column c${round} int`)
    const made = keysClient(user).create(`k${round}`, grantsOf({ t: ['select'] }))
    await eventually(async () => {
      const { rowCount } = await admin(
        `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock' and query ~ 'admit_key'`,
        [user.account.database],
      )
      assert.equal(rowCount, 1)
    })
    await tenant.query('commit')
    assert.equal((await made).status, 201)
  }
})

test('a creation whose last commit fails leaves neither key nor role', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  const { control } = service.services.databases
  await control.query(`create function cartage.fail() returns trigger language plpgsql as
    $$ begin if new.name = 'doomed' then raise exception 'no'; end if; return null; end $$`)
  await control.query(`create constraint trigger fail after insert on cartage.api_keys
    deferrable initially deferred for each row execute function cartage.fail()`)
  t.after(() => control.query('drop function cartage.fail() cascade'))
  const { status } = await keysClient(user).create('doomed', grantsOf({}, ['public']))
  assert.ok(status >= 400)
  assert.equal((await keysClient(user).read('doomed')).status, 404)
  assert.deepEqual(await keyRolesOf(context, user), [])
  assert.equal((await keysClient(user).create('fine', grantsOf())).status, 201)
  assert.equal((await keysClient(user).list('?type=regular')).body.total, 1)
})

test('repair removes a role without a key and gives its objects to the user', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  const kept = await keysClient(user).make('kept', grantsOf({}, ['public']))
  const orphan = `${user.account.masterRole}_k999999`
  const grants = {
    apis: [],
    services: [],
    tables: [],
    hasTableMetadata: false,
    schemas: [{ name: 'public', permissions: ['create'] as const }],
  }
  assert.deepEqual(await createKeyRole(service.services.installation, user.account, orphan, grants), [])
  await user.sql('create table made (id int)', [], orphan)
  assert.deepEqual(await repairKeys(service.services.installation), [orphan])
  assert.deepEqual(await keyRolesOf(context, user), [await roleOf(context, user, 'kept')])
  await user.sql('drop table made')
  assert.equal(await statusOf(user, kept.token), 200)
  assert.deepEqual(await repairKeys(service.services.installation), [])
})

test('repair leaves keys alone that are being created', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  const { control } = service.services.databases
  await control.query(`create function cartage.linger() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.5); return null; end $$`)
  await control.query(`create constraint trigger linger after insert on cartage.api_keys
    deferrable initially deferred for each row execute function cartage.linger()`)
  t.after(() => control.query('drop function cartage.linger() cascade'))
  const made = keysClient(user).make('k')
  await eventually(async () => assert.equal((await keyRolesOf(context, user)).length, 1))
  assert.deepEqual(await repairKeys(service.services.installation), [])
  assert.equal(await statusOf(user, (await made).token), 200)
})

test('a change of a key is answered only when every lease on its old state has expired', async (t) => {
  const { user, service } = await setup(t, { isIsolated: true })
  const { control } = service.services.databases
  const keys = keysClient(user)
  for (const change of [
    () => keys.create('k', grantsOf()),
    () => keys.regenerate('k'),
    () => keys.remove('k'),
  ]) {
    const { id } = await registerLease(control, undefined)
    const start = performance.now()
    assert.ok((await change()).status < 300)
    const elapsedMs = performance.now() - start
    assert.ok(elapsedMs >= leaseMs, `${elapsedMs} ms`)
    // No process renews it, so it holds up no other change.
    const { rowCount } = await control.query('select from cartage.cache_leases where id = $1', [id])
    assert.equal(rowCount, 0)
  }
})

/** Changes a key in its own process, with a database that the test can partly lock. */
function actor(
  t: TestContext,
  { keys, service }: Setup,
  user: TestUser,
  act: string,
  key: string,
): ChildProcess {
  const child = spawn(process.execPath, scriptArgs('test/support/keys/act-on-key.ts'), {
    stdio: 'inherit',
    env: {
      ...process.env,
      CARTAGE_DATABASE_URL: keys.adminUrl,
      CARTAGE_SECRET: keys.secret,
      CARTAGE_NAMESPACE: service.services.config.namespace,
      CARTAGE_ACT: act,
      CARTAGE_USER: user.username,
      CARTAGE_KEY: key,
    },
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}

test('kill -9 after the role was created and before its record leaves an orphan that repair removes', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  const { control } = service.services.databases
  await user.sql('create table t (id int)')
  await control.query(`create function cartage.wait() returns trigger language plpgsql as
    $$ begin perform pg_sleep(60); return null; end $$`)
  await control.query(`create constraint trigger wait after insert on cartage.api_keys
    deferrable initially deferred for each row execute function cartage.wait()`)
  const child = actor(t, context, user, 'create', 'k')
  await eventually(async () => assert.equal((await keyRolesOf(context, user)).length, 1))
  child.kill('SIGKILL')
  await once(child, 'exit')
  await control.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
  )
  await control.query('drop function cartage.wait() cascade')
  assert.equal((await keysClient(user).read('k')).status, 404)
  assert.equal((await repairKeys(service.services.installation)).length, 1)
  assert.deepEqual(await keyRolesOf(context, user), [])
  assert.equal((await keysClient(user).create('k', grantsOf({ t: ['select'] }))).status, 201)
})

test('kill -9 during a deletion leaves an invalid token, and repair does the rest', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  const { control } = service.services.databases
  const { token } = await keysClient(user).make('k', grantsOf({}, ['public']))
  await user.sql('create table made (id int)', [], await roleOf(context, user, 'k'))
  // As if a process still had the key cached.
  await registerLease(control, undefined)
  const child = actor(t, context, user, 'delete', 'k')
  await eventually(async () => assert.equal((await keysClient(user).read('k')).status, 404))
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(await statusOf(user, token), 401)
  assert.equal((await keyRolesOf(context, user)).length, 1)
  assert.equal((await repairKeys(service.services.installation)).length, 1)
  assert.deepEqual(await keyRolesOf(context, user), [])
  await user.sql('drop table made')
})

test('a deletion is answered although a statement locks a table of the key, which is handed over later', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, service } = context
  await keysClient(user).make('k', grantsOf({}, ['public']))
  const role = await roleOf(context, user, 'k')
  await user.sql('create table made (id int)', [], role)
  const holder = await service.services.databases.job.acquire({
    hostId: user.account.hostId,
    database: user.account.database,
    role: user.account.masterRole,
    searchPath: 'public',
  })
  await holder.query('begin; lock table made in access share mode')
  assert.equal((await keysClient(user).remove('k')).status, 200)
  assert.equal((await keysClient(user).read('k')).status, 404)
  assert.deepEqual(await keyRolesOf(context, user), [role])
  await holder.query('rollback')
  holder.release()
  await eventually(async () => assert.deepEqual(await keyRolesOf(context, user), []))
  assert.deepEqual(tablesOf((await keysClient(user).read('Master')).body), {
    'public.made': 'delete,insert,select,update',
  })
})
