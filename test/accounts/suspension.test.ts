import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { type OperationId, operations, pathOf } from '../../src/contract/operations.ts'
import { createLog } from '../../src/log/log.ts'
import { runDueSchedule } from '../../src/schedules/run-schedules.ts'
import { startService } from '../../src/service/service.ts'
import { cartage, installation } from '../support/http/call.ts'
import { openSession } from '../support/http/session-socket.ts'
import { jobApi, statusesOf } from '../support/jobs/job-api.ts'
import { startWorkerProcess } from '../support/jobs/worker-process.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { basic, eventually, type SetupOptions, setup, type TestUser } from '../support/service/setup.ts'
import { reason, suspending, untilAsleep } from '../support/service/suspending.ts'

async function suspended(t: TestContext, options: SetupOptions = {}) {
  const house = await setup(t, options)
  return { ...house, ...suspending(t, house) }
}

const statusOf = async ({ base }: Pick<TestUser, 'base'>, token: string) =>
  (await fetch(`${base}/api/v2/sql?${new URLSearchParams({ q: 'select 1', api_key: token })}`)).status

test("every operation of a suspended account is refused with 403 and the operator's text", async (t) => {
  const { url, user, suspend, resume } = await suspended(t)
  const { token } = await keysClient(user).make('reader', grantsOf())
  const made = await fetch(`${user.base}/api/v4/exports`, {
    method: 'POST',
    headers: { ...basic(user.username, user.masterToken), 'content-type': 'application/json' },
    body: JSON.stringify({ q: 'select 1 as n' }),
  })
  const { url: link } = (await made.json()) as { url: string }
  const document = await suspend()
  assert.deepEqual([document.suspended_reason, document.suspended_at === null], [reason, false])
  const ofAccounts = Object.entries(operations).filter(
    ([id, [, path]]) => id !== 'openSession' && (path.startsWith('/user/') || path.endsWith('/me')),
  )
  assert.ok(ofAccounts.length > 80)
  for (const [id, [method]] of ofAccounts) {
    const address = `${url}${pathOf(id as OperationId, parametersOf(user))}`
    const headers = { ...basic(user.username, user.masterToken), 'content-type': 'application/json' }
    const body = ['GET', 'HEAD'].includes(method) ? null : '{}'
    const answer = await fetch(address, { method, headers, body })
    const text = await answer.text()
    assert.equal(answer.status, 403, `${id}: ${text}`)
    // A link works without a key, so its reader does not get the text. A page is for people.
    if (method === 'HEAD' || id === 'openExport' || id.endsWith('Page')) continue
    assert.match(text, /This account is suspended: The invoice of May is open/, id)
  }
  assert.equal((await fetch(link)).status, 403)
  await assert.rejects(openSession(t, user), { code: 'account-suspended', status: 403 })
  assert.equal(await statusOf(user, token), 403)
  assert.equal(await statusOf(user, 'cartage_wrong'), 401)
  assert.deepEqual((await resume()).suspended_at, null)
  assert.equal(await statusOf(user, token), 200)
  assert.equal((await fetch(link)).status, 200)
})

function parametersOf({ username }: TestUser): Record<string, string> {
  const names = [
    'key',
    'jobId',
    'schedule',
    'webhookId',
    'deliveryId',
    'importId',
    'uploadId',
    'exportId',
    'secret',
    'entry',
  ]
  const others = [
    'query',
    'dashboard',
    'table',
    'layergroupid',
    'template',
    'layer',
    'dataview',
    'fid',
    'z',
    'x',
    'y',
  ]
  return {
    ...Object.fromEntries(names.map((name) => [name, randomUUID()])),
    ...Object.fromEntries(others.map((name) => [name, '0'])),
    name: username,
  }
}

test('requests without a key are refused too, without the text', async (t) => {
  const { user, suspend } = await suspended(t)
  await user.sql('create table open as select 1 as n; grant select on open to public')
  await suspend()
  for (const query of ['', '&api_key=default_public']) {
    const answer = await fetch(`${user.base}/api/v2/sql?q=select+n+from+open${query}`)
    const { code, error } = (await answer.json()) as { code: string; error: string[] }
    assert.deepEqual([answer.status, code, error], [403, 'account-suspended', ['This account is suspended']])
  }
})

test('a suspension and its end apply in every process once they are answered; the data stays', async (t) => {
  const { user, service, keys, suspend, resume } = await suspended(t)
  const other = await startService(
    service.services.config,
    keys,
    { http: true, worker: false },
    createLog('error'),
  )
  t.after(() => other.stop())
  const there = { base: `${other.url}/user/${user.username}` }
  await user.sql('create table kept as select 7 as n')
  for (let round = 0; round < 5; round += 1) {
    assert.equal(await statusOf(there, user.masterToken), 200)
    await suspend()
    assert.deepEqual(
      await Promise.all([user, there].map((node) => statusOf(node, user.masterToken))),
      [403, 403],
    )
    await resume()
  }
  const { rows } = await user.sql('select n from kept')
  assert.deepEqual(rows, [{ n: 7 }])
})

test('a suspension ends running requests and sessions of all keys, and the callers get the reason', async (t) => {
  const { user, admin, suspend } = await suspended(t)
  const { token } = await keysClient(user).make('reader', grantsOf())
  const session = await openSession(t, user)
  await session.run('begin')
  const sleeping = [user.masterToken, token].map((each) =>
    fetch(`${user.base}/api/v2/sql?${new URLSearchParams({ q: 'select pg_sleep(60)', api_key: each })}`),
  )
  await eventually(async () => {
    const { rowCount } = await admin(
      `select from pg_stat_activity where datname = $1 and state = 'active' and query ~ 'pg_sleep'`,
      [user.account.database],
    )
    assert.equal(rowCount, 2)
  })
  await suspend()
  for (const answer of await Promise.all(sleeping)) {
    const { code, error } = (await answer.json()) as { code: string; error: string[] }
    assert.deepEqual([answer.status, code], [403, 'account-suspended'])
    assert.match(error[0]!, /The invoice of May is open/)
  }
  const lost = await session.until('lost')
  assert.match(lost.error[0]!, /the account was suspended/)
  const { rowCount } = await admin('select from pg_stat_activity where usename like $1', [
    `${user.account.masterRole}%`,
  ])
  assert.equal(rowCount, 0)
})

test('jobs of a suspended account wait, those of others run, and after it they continue where they were', async (t) => {
  const { user, admin, createUser, suspend, resume } = await suspended(t, { worker: true })
  await user.sql('create table marks (n int)')
  const api = jobApi(user)
  const items = ['insert into marks values (1)', 'select pg_sleep(5)', 'insert into marks values (3)']
  const begun = await api.submit(items)
  await untilAsleep(admin, user)
  const waiting = await api.submit('insert into marks values (4)')
  await suspend()
  const statements = await admin('select from pg_stat_activity where usename = $1', [user.account.masterRole])
  assert.equal(statements.rowCount, 0)
  const other = await createUser()
  const others = jobApi(other)
  assert.equal((await others.ended((await others.submit('select 1')).job_id)).status, 'done')
  const states = () =>
    user.sql('select n from marks order by n').then(({ rows }) => rows.map(({ n }: { n: number }) => n))
  assert.deepEqual(await states(), [1])
  await resume()
  for (const { job_id } of [begun, waiting]) assert.equal((await api.ended(job_id)).status, 'done')
  assert.deepEqual(await states(), [1, 3, 4])
})

test('a utility that cannot run in a transaction is not interrupted: its job waits after it', async (t) => {
  const { user, admin, keys, suspend, resume } = await suspended(t, { worker: true })
  await user.sql('create table t (n int); create table marks (n int)')
  const holder = new pg.Client({ connectionString: withDatabase(keys.adminUrl, user.account.database) })
  await holder.connect()
  await holder.query('begin; insert into public.t values (1)')
  const api = jobApi(user)
  const { job_id } = await api.submit([
    'create index concurrently by_n on t (n)',
    'insert into marks values (1)',
  ])
  const isBuilding = async () =>
    (
      await admin(`select from pg_stat_activity where datname = $1 and query ~ '^create index'`, [
        user.account.database,
      ])
    ).rowCount === 1
  await eventually(async () => assert.ok(await isBuilding()))
  await suspend()
  assert.ok(await isBuilding())
  await holder.query('commit')
  await holder.end()
  await eventually(async () => assert.ok(!(await isBuilding())))
  const { rows } = await user.sql(
    `select indisvalid as valid, (select count(*)::int from marks) as marks from pg_index where indexrelid = 'by_n'::regclass`,
  )
  assert.deepEqual(rows, [{ valid: true, marks: 0 }])
  await resume()
  assert.equal((await api.ended(job_id)).status, 'done')
})

test('other statements outside a transaction are interrupted, and their outcome is unknown', async (t) => {
  const { user, admin, suspend, resume } = await suspended(t, { worker: true })
  await user.sql('create table marks (n int)')
  const api = jobApi(user)
  for (const statement of [
    'do $$ begin insert into marks values (1); commit; perform pg_sleep(60); end $$',
    'begin; insert into marks values (2); commit; begin; select pg_sleep(60); commit',
  ]) {
    const { job_id } = await api.submit([statement, 'insert into marks values (3)'])
    await untilAsleep(admin, user)
    await suspend()
    const asked = `select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'`
    assert.equal((await admin(asked, [user.account.database])).rowCount, 0)
    await resume()
    assert.deepEqual(statusesOf(await api.ended(job_id)), ['unknown', 'pending'])
  }
  const { rows } = await user.sql('select n from marks order by n')
  assert.deepEqual(rows, [{ n: 1 }, { n: 2 }])
})

test('a suspension waits for a running claim of jobs, so that it sees what was claimed', async (t) => {
  const { user, service, suspend } = await suspended(t, { isIsolated: true })
  const { control } = service.services.databases
  const claim = await control.connect()
  t.after(() => claim.release(true))
  await claim.query('begin')
  await claim.query(`select cartage.claim_jobs(1, 1, 1, 1, 1, '{1}')`)
  const suspending = suspend()
  await eventually(async () => {
    const waiting = await control.query(
      `select from pg_locks where locktype = 'advisory' and not granted and objid = 7238010`,
    )
    assert.equal(waiting.rowCount, 1)
  })
  assert.equal(await statusOf(user, user.masterToken), 200)
  await claim.query('commit')
  await suspending
  assert.equal(await statusOf(user, user.masterToken), 403)
})

test('the statement of a lost worker is ended and settled while the account is suspended', async (t) => {
  const house = await suspended(t, { isIsolated: true })
  const { user, admin, service, suspend, resume } = house
  await user.sql('create table marks (n int)')
  const lost = await startWorkerProcess(t, house)
  const api = jobApi(user)
  const statement =
    'insert into marks values (1); select pg_sleep(case when (select count(*) from marks) > 1 then 0 else 3600 end)'
  const { job_id } = await api.submit([statement, 'insert into marks values (2)'])
  await untilAsleep(admin, user)
  lost.signal('SIGSTOP')
  await suspend()
  await startWorkerProcess(t, house)
  const { control } = service.services.databases
  await eventually(async () => {
    const { rows } = await control.query('select worker_id, flight_pid from cartage.jobs where id = $1', [
      job_id,
    ])
    assert.deepEqual(rows, [{ worker_id: null, flight_pid: null }])
  }, 30_000)
  const asleep = `select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'`
  assert.equal((await admin(asleep, [user.account.database])).rowCount, 0)
  assert.deepEqual((await user.sql('select n from marks')).rows, [])
  await user.sql('insert into marks values (0)')
  await resume()
  assert.equal((await api.ended(job_id)).status, 'done')
  assert.deepEqual((await user.sql('select n from marks order by n')).rows, [{ n: 0 }, { n: 1 }, { n: 2 }])
})

test('a suspension ends the statement of a job that has no worker', async (t) => {
  const house = await suspended(t, { isIsolated: true })
  const { user, admin, service, suspend } = house
  const lost = await startWorkerProcess(t, house)
  const { job_id } = await jobApi(user).submit('select pg_sleep(3600)')
  await untilAsleep(admin, user)
  lost.signal('SIGSTOP')
  // What another worker does once it has noticed.
  await service.services.databases.control.query(
    'update cartage.jobs set worker_id = null, claim = null, revision = revision + 1, write_id = null where id = $1',
    [job_id],
  )
  await suspend()
  const asleep = `select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'`
  assert.equal((await admin(asleep, [user.account.database])).rowCount, 0)
})

test('schedules of a suspended account create no jobs, and afterwards at most one for all missed times', async (t) => {
  const { user, service, suspend, resume } = await suspended(t, { isIsolated: true })
  const { databases, config } = service.services
  const headers = { ...basic(user.username, user.masterToken), 'content-type': 'application/json' }
  for (const [name, catch_up] of [
    ['makes-up', 'last'],
    ['skips', 'none'],
  ]) {
    const body = JSON.stringify({ name, cron: '0 * * * *', query: 'select 1', catch_up })
    const made = await fetch(`${user.base}/api/v4/schedules`, { method: 'POST', headers, body })
    assert.equal(made.status, 201, await made.text())
  }
  await suspend()
  await databases.control.query(
    `update cartage.schedules set next_due_at = date_trunc('hour', clock_timestamp()) - interval '30 hours'
     where user_id = $1`,
    [user.account.userId],
  )
  // What a worker does twice a second.
  const look = async () => {
    while (await runDueSchedule(databases, config));
    const { rows } = await databases.control.query<{ name: string; jobs: number }>(
      `select name, count(job_id)::integer as jobs from cartage.schedule_runs
       where user_id = $1 group by name having count(*) >= 30 order by name`,
      [user.account.userId],
    )
    return rows
  }
  assert.deepEqual(await look(), [])
  await resume()
  assert.deepEqual(await look(), [
    { name: 'makes-up', jobs: 1 },
    { name: 'skips', jobs: 0 },
  ])
})

test('a second suspension changes the reason and keeps the time; a reason and an existing user are required', async (t) => {
  const { user, operator, resume } = await suspended(t)
  const first = await operator.users.suspend(user.username, 'one')
  const second = await operator.users.suspend(user.username, 'two')
  assert.deepEqual([second.suspended_at, second.suspended_reason], [first.suspended_at, 'two'])
  for (const bad of ['', '  ', 'x'.repeat(501), 'a\nb'])
    await assert.rejects(operator.users.suspend(user.username, bad), { status: 422 })
  await assert.rejects(operator.users.suspend('nobody-there', 'x'), { status: 404 })
  await assert.rejects(operator.users.resume('nobody-there'), { status: 404 })
  await resume()
  assert.equal((await resume()).suspended_at, null)
  const records = await operator.audit({ account: user.username, limit: 4 })
  assert.deepEqual(
    records.map(({ action }) => action),
    ['user.resumed', 'user.resumed', 'user.suspended', 'user.suspended'],
  )
})

test('cartage user suspend, resume and reset-key --all-keys do the same', async (t) => {
  const house = await suspended(t)
  const { user } = house
  const me = installation(house)
  const run = async (...args: string[]) => {
    const { code, out, err } = await cartage(me, 'user', ...args)
    assert.equal(code, 0, err)
    return out
  }
  const { token } = await keysClient(user).make('reader', grantsOf())
  assert.equal(
    await run('suspend', user.username, '--reason', reason),
    `suspended user ${user.username}: ${reason}\n`,
  )
  assert.equal(await statusOf(user, token), 403)
  assert.match(await run('show', user.username), /^suspended {5}.*: The invoice of May is open$/m)
  assert.match(await run('list'), new RegExp(`^${user.username}, suspended$`, 'm'))
  assert.equal(await run('resume', user.username), `resumed user ${user.username}\n`)
  const { api_key, keys } = JSON.parse(await run('reset-key', user.username, '--all-keys', '--json'))
  assert.deepEqual(keys, ['Master', 'reader'])
  assert.deepEqual(
    await Promise.all([token, user.masterToken, api_key].map((each) => statusOf(user, each))),
    [401, 401, 200],
  )
  const missing = await cartage(me, 'user', 'suspend', user.username)
  assert.notEqual(missing.code, 0)
  assert.match(missing.err, /--reason/)
})
