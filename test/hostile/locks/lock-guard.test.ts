import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { listAudit } from '../../../src/audit/audit-store.ts'
import { doctor } from '../../../src/doctor/doctor.ts'
import { jobApi } from '../../support/jobs/job-api.ts'
import { grantsOf, keysClient } from '../../support/keys/keys-client.ts'
import { eventually, type Setup, setup, type TestUser } from '../../support/service/setup.ts'

type Attack = Readonly<{
  hold: string
  wait: string
  prepare?: string
  /**
   * Every change of accounts needs it, and the process that makes the change ends the blockers without telling the
   * reason.
   */
  isNeededByAll?: boolean
}>

/** Each takes a weak lock that it may have, then waits for a strong one that it may not have. */
const attacks: Record<string, Attack> = {
  'the roles of the cluster, by a partition': {
    hold: 'select pg_sleep(60) from pg_catalog.pg_roles limit 1',
    wait: 'create temp table x partition of pg_catalog.pg_authid for values in (1)',
  },
  'the roles of the cluster, right after a change of its own': {
    prepare: `alter role current_user password 'mine'`,
    hold: 'select pg_sleep(60) from pg_catalog.pg_roles limit 1',
    wait: 'create temp table x partition of pg_catalog.pg_authid for values in (1)',
  },
  'the databases of the cluster': {
    hold: 'select pg_sleep(60) from pg_catalog.pg_database limit 1',
    wait: 'create temp table x partition of pg_catalog.pg_database for values in (1)',
  },
  'the dependencies of the cluster, by a trigger': {
    hold: 'begin; prepare p as delete from pg_catalog.pg_shdepend; select pg_sleep(60)',
    wait: `create trigger t before insert on pg_catalog.pg_shdepend
      for each row execute function suppress_redundant_updates_trigger()`,
    isNeededByAll: true,
  },
  'the database of the administrator': {
    hold: `begin; alter role current_user in database postgres set work_mem = '4MB'; select pg_sleep(60)`,
    wait: 'drop database postgres',
  },
  'a catalog of its own database, in a loop that catches errors': {
    hold: 'select pg_sleep(60) from pg_catalog.pg_class limit 1',
    wait: `do $$ begin loop begin
      set local lock_timeout = '500ms';
      create temp table x partition of pg_catalog.pg_class for values in (1);
      exception when others or query_canceled then null; end; end loop; end $$`,
  },
  'the schema that all share': {
    hold: 'begin; create table made_in_it (a int); select pg_sleep(60)',
    wait: 'drop schema public',
  },
}

for (const [what, { prepare, hold, wait, isNeededByAll }] of Object.entries(attacks)) {
  test(`a key that waits for a strong lock on ${what} is ended, and others continue`, async (t) => {
    const house = await setup(t)
    const { user } = house
    const { token } = await keysClient(user).make('k', grantsOf({}, ['public']))
    const holder = keep(t, house, user, hold, token)
    await holder.sleeps
    if (prepare) assert.equal((await ask(user, prepare, token)).status, 200)
    const waiter = ask(user, wait, token)
    await logIn(house)
    const { status, code, text } = await waiter
    const isEndedByAnother = isNeededByAll && status === 503 && code === 'database-unavailable'
    if (!isEndedByAnother) assert.deepEqual([status, code], [403, 'lock-not-allowed'], text)
    await house.createUser()
    if (!isEndedByAnother) assert.equal(await holder.isThere(), true, 'who only reads stays')
  })
}

test('a master key that does is ended too, and its job fails for that reason at its first attempt', async (t) => {
  const house = await setup(t, { worker: true })
  const { user } = house
  await keep(t, house, user, 'select pg_sleep(60) from pg_catalog.pg_database limit 1', '').sleeps
  const wait = 'create rule r as on insert to pg_catalog.pg_database do nothing'
  const asked = await ask(user, wait, user.masterToken)
  assert.deepEqual([asked.status, asked.code], [403, 'lock-not-allowed'], asked.text)
  const jobs = jobApi(user)
  const { status, failed_reason: reason } = await jobs.ended((await jobs.submit(wait)).job_id)
  assert.deepEqual(
    [status, reason],
    ['failed', 'The statement was ended: it waited for a lock on the catalog pg_database, which others need'],
  )
  await logIn(house)
  await isCounted(house, user)
})

async function isCounted({ service, url }: Setup, { username, account }: TestUser): Promise<void> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  assert.match(metrics, /^cartage_guard_ended_total\{look="locks"\} 2$/m)
  assert.match(metrics, /^cartage_guard_hosts 1$/m)
  const { installation, config } = service.services
  const [found] = await eventually(async () => {
    const records = await listAudit(installation.databases.control, { action: 'session.ended', limit: 10 })
    assert.equal(records.length, 1)
    return records
  })
  const { role, why, count } = found!.details
  assert.deepEqual(
    [found!.account, role, why, count],
    [username, account.masterRole, 'waited for a lock on the catalog pg_database', 2],
  )
  const check = (await doctor(installation, config)).find(({ name }) => name === 'guard')
  assert.match(`${check!.status}: ${check!.advice}`, new RegExp(`^warn: 2 statements .* of ${username}: `))
}

test("a key that waits for a lock on its master's private table is ended", async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql('create table private (a int); create table shared (a int)')
  const { token } = await keysClient(user).make('k', grantsOf({ shared: ['select'] }, ['public']))
  for (const table of ['private', 'shared']) {
    const holder = keep(t, house, user, `select pg_sleep(60) from (select count(*) from ${table}) x`)
    await holder.sleeps
    const { status, code, text } = await ask(
      user,
      `create temp table x partition of ${table} for values in (1)`,
      token,
    )
    assert.deepEqual([status, code], [403, 'lock-not-allowed'], text)
    await holder.end()
  }
})

test('a session that locks shared objects is ended when others have waited for two seconds', async (t) => {
  const house = await setup(t)
  const { user } = house
  const holder = keep(
    t,
    house,
    user,
    `begin; alter role current_user password 'mine'; select pg_sleep(60)`,
    user.masterToken,
  )
  await holder.sleeps
  const started = performance.now()
  await house.admin(`alter role "${user.account.masterRole}" valid until 'infinity'`)
  assert.ok(performance.now() - started < 6_000)
  const { status, code } = await holder.answer
  assert.deepEqual([status, code], [403, 'lock-not-allowed'])
})

test('a key that locks a private table is ended when its master has waited for two seconds', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql('create table private (a int)')
  const { token } = await keysClient(user).make('k', grantsOf({}, ['public']))
  const holder = keep(t, house, user, 'begin; prepare p as select * from private; select pg_sleep(60)', token)
  await holder.sleeps
  await user.sql('alter table private add column b int')
  const { status, code } = await holder.answer
  assert.deepEqual([status, code], [403, 'lock-not-allowed'])
})

test('sessions that wait for locks they may take are not ended', async (t) => {
  const house = await setup(t)
  const { user } = house
  await user.sql(`create table t (a int primary key); create table child (a int references t);
    create view v as select * from t; create table emptied (a int);
    create function empty_it() returns void language sql security definer as 'truncate emptied';
    create table indexed (a int); create schema extra; grant usage, create on schema extra to public`)
  const granted = grantsOf({ t: ['select', 'insert', 'update', 'delete'] }, ['public'])
  const { token } = await keysClient(user).make('k', granted)
  const { token: viewer } = await keysClient(user).make('viewer', grantsOf({ v: ['select'] }))
  assert.equal((await ask(user, 'create table own (a int)', token)).status, 200)
  const holders = [
    [
      'begin; insert into t values (1); insert into child values (1); insert into emptied values (1); insert into indexed values (1)',
      user.masterToken,
    ],
    ['begin; insert into own values (1); select count(*) from t', token],
    ['begin; create table extra.made (a int)', user.masterToken],
    ['begin; select count(*) from v', viewer],
  ] as const
  const held = holders.map(([text, key]) => keep(t, house, user, `${text}; select pg_sleep(5); commit`, key))
  await Promise.all(held.map(({ sleeps }) => sleeps))
  const waiters = [
    ['alter table t add column b int', user.masterToken],
    ['vacuum full child', user.masterToken],
    ['create index concurrently on indexed (a)', user.masterToken],
    ['drop schema extra cascade', user.masterToken],
    ['begin; lock table t in access exclusive mode; commit', token],
    ['select empty_it()', token],
    ['drop table own', token],
    [`notify somebody`, user.masterToken],
  ] as const
  const answers = await Promise.all(waiters.map(([text, key]) => ask(user, text, key)))
  for (const [place, { status, text }] of answers.entries())
    assert.equal(status, 200, `${waiters[place]![0]}: ${text}`)
  for (const { answer } of held) assert.equal((await answer).status, 200, (await answer).text)
})

async function ask({ base }: TestUser, q: string, token: string, signal?: AbortSignal) {
  const body = new URLSearchParams({ q, ...(token && { api_key: token }) })
  const response = await fetch(`${base}/api/v2/sql`, { method: 'POST', body, signal: signal ?? null })
  const text = await response.text()
  return { status: response.status, text, code: (JSON.parse(text) as { code?: string }).code }
}

/** Runs a text that sleeps at its end and keeps its locks. */
function keep(t: TestContext, { admin }: Setup, user: TestUser, text: string, token = user.masterToken) {
  const leave = new AbortController()
  t.after(() => leave.abort())
  const mark = `/* ${Math.random()} */`
  const answer = ask(user, `${text} ${mark}`, token, leave.signal)
  answer.catch(() => undefined)
  const isThere = async () => {
    const { rowCount } = await admin(
      `select from pg_stat_activity where strpos(query, $1) > 0 and wait_event = 'PgSleep'`,
      [mark],
    )
    return rowCount === 1
  }
  const sleeps = eventually(async () => assert.equal(await isThere(), true))
  const end = async () => {
    leave.abort()
    await eventually(async () => assert.equal(await isThere(), false))
  }
  return { answer, isThere, sleeps, end }
}

/** A new connection of the administrator, like any other. */
async function logIn({ keys }: Setup): Promise<void> {
  const client = new pg.Client({ connectionString: keys.adminUrl, connectionTimeoutMillis: 3_000 })
  await client.connect()
  await client.query('select from pg_catalog.pg_authid')
  await client.end()
}
