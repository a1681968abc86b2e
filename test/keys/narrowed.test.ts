import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { settleTemporaryTables } from '../../src/keys/temporary-tables.ts'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { cartage, installation } from '../support/http/call.ts'
import { jobSession } from '../support/jobs/job-session.ts'
import { grantsOf, keyRolesOf, keysClient, refusal, send } from '../support/keys/keys-client.ts'
import { startProcess } from '../support/service/processes.ts'
import { basic, eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

const narrow = (user: TestUser, grants: unknown, base = user.base) =>
  send(`${base}/api/v4/keys/k`, {
    method: 'PATCH',
    headers: basic(user.username, user.masterToken),
    body: { grants },
  })

test('a narrowed key loses what default privileges would grant it on new objects', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await user.sql('create schema s; create table t (n int)')
  await keysClient(user).make('k', grantsOf({ t: ['select'] }, ['public']))
  const [role] = await keyRolesOf(context, user)
  await user.sql(`alter default privileges grant select, insert on tables to "${role}" with grant option;
    alter default privileges in schema s grant select on tables to "${role}";
    alter default privileges grant usage on sequences to "${role}";
    alter default privileges grant execute on functions to "${role}";
    alter default privileges grant usage on types to "${role}";
    alter default privileges grant usage on schemas to "${role}"`)
  const keepsOwn = `alter default privileges for role "${role}" grant select on tables to "${user.account.publicRole}"`
  await user.sql(keepsOwn)
  await user.sql('create table early (n int)')
  assert.equal(await refusal(user, role!, 'select from early'), undefined)

  assert.equal((await narrow(user, grantsOf({ t: ['select'] }))).status, 200)
  await user.sql('create table later (n int); create table s.later (n int)')
  for (const table of ['early', 'later', 's.later'])
    assert.equal(await refusal(user, role!, `select from ${table}`), '42501', table)
  assert.equal(await refusal(user, role!, 'select from t'), undefined)
  const { rows } = await admin(
    `select pg_get_userbyid(defaclrole) as owner, defaclobjtype as kind from pg_default_acl
     where defaclacl::text like '%' || $1 || '=%' or defaclrole = $1::regrole`,
    [role],
    user.account.database,
  )
  assert.deepEqual(rows, [{ owner: role, kind: 'r' }])
})

test('a change of a key that has lost its lock does not undo a later one', async (t) => {
  const context = await setup(t, { isIsolated: true })
  const { user, admin, service, keys } = context
  // Requests of one process run one after another.
  const other = await startService(
    service.services.config,
    keys,
    { http: true, worker: false },
    createLog('silent'),
  )
  t.after(() => other.stop())
  await user.sql('create table early (n int); create table later (n int)')
  await keysClient(user).make('k', grantsOf())
  const [role] = await keyRolesOf(context, user)
  const { database } = user.account
  await admin(holdEarly, [], database)
  const late = narrow(user, grantsOf({ early: ['select'] }))
  await eventually(async () => {
    const { rowCount } = await admin(
      `select from pg_stat_activity where datname = $1 and state = 'active' and query ~ 'refused_grants'`,
      [database],
    )
    assert.equal(rowCount, 1)
  })
  const { rowCount } = await admin(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1 and state = 'idle in transaction'`,
    [service.services.config.namespace],
  )
  assert.equal(rowCount, 1)
  const base = `${other.url}/user/${user.username}`
  assert.equal((await narrow(user, grantsOf({ later: ['select'] }), base)).status, 200)
  await admin('delete from cartage.held', [], database)
  assert.equal((await late).status, 503)
  assert.equal(await refusal(user, role!, 'select from later'), undefined)
  assert.equal(await refusal(user, role!, 'select from early'), '42501')
})

/** A change that names the table `early` waits before it changes anything. */
const holdEarly = `create table cartage.held as select 1;
  alter function cartage.refused_grants(text, jsonb, jsonb) rename to grants_refused;
  create function cartage.refused_grants(text, tables jsonb, jsonb) returns text[] language plpgsql as $$
  begin
    while tables @> '[{"name": "early"}]' and exists (select from cartage.held) loop
      perform pg_sleep(0.05);
    end loop;
    return cartage.grants_refused($1, $2, $3);
  end $$`

test('a late grant of the right to create temporary tables does not survive the next change', async (t) => {
  const context = await setup(t)
  const { user, service } = context
  await user.sql('create table t (n int)')
  await keysClient(user).make('k', grantsOf({ t: ['insert'] }))
  const [role] = await keyRolesOf(context, user)
  const mayUseTemporary = () => mayUseTemporaryTables(context, user, role!)
  assert.equal(await mayUseTemporary(), true)
  assert.equal((await narrow(user, grantsOf({ t: ['select'] }))).status, 200)
  assert.equal(await mayUseTemporary(), false)
  // As a retry of the first grant would.
  const { services } = service
  const installation = { ...services, namespace: services.config.namespace }
  await settleTemporaryTables(installation, user.account, role!)
  assert.equal(await mayUseTemporary(), false)
  assert.equal((await narrow(user, grantsOf({ t: ['select', 'insert'] }))).status, 200)
  assert.equal(await mayUseTemporary(), true)
  assert.equal((await narrow(user, grantsOf({}, ['public']))).status, 200)
  assert.equal(await mayUseTemporary(), true)
})

test('a narrowed key loses its temporary tables even if the next change is refused', async (t) => {
  const context = await setup(t)
  const { user, keys } = context
  await user.sql('create table t (n int)')
  await keysClient(user).make('k', grantsOf({ t: ['insert'] }))
  const [role] = await keyRolesOf(context, user)
  const operator = new pg.Client({ connectionString: keys.adminUrl })
  operator.on('error', () => undefined)
  t.after(() => operator.end())
  await operator.connect()
  await operator.query(`begin; grant connect on database "${user.account.database}" to current_user`)
  assert.equal((await narrow(user, grantsOf({ t: ['select'] }))).status, 200)
  assert.equal(await mayUseTemporaryTables(context, user, role!), true)
  const refused = [
    await narrow(user, grantsOf({ missing: ['select'] })),
    await send(`${user.base}/api/v4/keys/k`, {
      method: 'PATCH',
      headers: basic(user.username, user.masterToken),
      body: { grants: grantsOf({ t: ['insert'] }), expires_at: '2020-01-01T00:00:00Z' },
    }),
  ]
  assert.deepEqual(
    refused.map(({ status }) => status),
    [422, 422],
  )
  await operator.query('rollback')
  await eventually(async () => assert.equal(await mayUseTemporaryTables(context, user, role!), false))
})

test('repair revokes the right to create temporary tables that a killed process left to a narrowed key', async (t) => {
  const context = await setup(t)
  const { user, keys, service } = context
  await user.sql('create table t (n int)')
  await keysClient(user).make('k', grantsOf({ t: ['insert'] }))
  const [role] = await keyRolesOf(context, user)
  const { config } = service.services
  const process = await startProcess(t, { config, keys }, ['serve'], { CARTAGE_WORKER: 'off' })
  const operator = new pg.Client({ connectionString: keys.adminUrl })
  operator.on('error', () => undefined)
  t.after(() => operator.end())
  await operator.connect()
  await operator.query(`begin; grant connect on database "${user.account.database}" to current_user`)
  const base = `${process.url}/user/${user.username}`
  assert.equal((await narrow(user, grantsOf({ t: ['select'] }), base)).status, 200)
  await process.kill()
  await operator.query('rollback')
  assert.equal(await mayUseTemporaryTables(context, user, role!), true)
  const { out, err } = await cartage(installation(context), 'repair')
  assert.match(out, new RegExp(`^settled the right of ${role} to make temporary tables$`, 'm'), err)
  assert.equal(await mayUseTemporaryTables(context, user, role!), false)
})

test("a member who locks the objects of another's key cannot prevent it from being narrowed", async (t) => {
  const context = await setup(t)
  const { name: organization, owner } = await context.createOrganization()
  const member = await context.createUser({ organization })
  await owner.sql('create table t (n int)')
  const tables = [{ schema: owner.username, name: 't', permissions: ['select', 'insert'] }]
  const grants = (wanted: unknown) => [
    { type: 'apis', apis: ['sql'] },
    { type: 'database', tables: wanted },
  ]
  await keysClient(owner).make('k', grants(tables))
  const [role] = await keyRolesOf(context, owner)
  await member.sql(`alter default privileges grant select on tables to "${role}"`)
  const hostile = await jobSession(t, context, member)
  await hostile.query(`begin; alter default privileges grant insert on tables to "${role}"`)
  assert.equal((await narrow(owner, grants([{ ...tables[0], permissions: ['select'] }]))).status, 200)
  assert.equal(await refusal(owner, role!, `insert into "${owner.username}".t values (1)`), '42501')
  assert.equal(await refusal(owner, role!, `select from "${owner.username}".t`), undefined)
})

async function mayUseTemporaryTables({ admin }: Setup, { account }: TestUser, role: string) {
  const { rows } = await admin('select has_database_privilege($1, $2, $3) as may', [
    role,
    account.database,
    'temporary',
  ])
  return rows[0].may
}
