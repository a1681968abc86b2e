import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createAdminClient } from '../../src/client/client.ts'
import { createLog } from '../../src/log/log.ts'
import { startService } from '../../src/service/service.ts'
import { usageCounts } from '../../src/usage/usage-counts.ts'
import { cartage, installation } from '../support/http/call.ts'
import { openSession } from '../support/http/session-socket.ts'
import { type JobApi, jobApi, runJob } from '../support/jobs/job-api.ts'
import {
  basic,
  eventually,
  randomName,
  type SetupOptions,
  setup,
  type TestUser,
} from '../support/service/setup.ts'
import { askTiles } from '../support/tiles/tile-api.ts'

async function house(t: TestContext, options: SetupOptions = {}) {
  const found = await setup(t, options)
  const operator = createAdminClient({ baseUrl: found.url, token: found.keys.adminToken! })
  t.after(() => operator.close())
  /** Creates a plan and deletes it after the test, when its users are gone. */
  const plan = async (limits: Parameters<typeof operator.plans.change>[1]) => {
    const { name } = await operator.plans.create({ name: randomName('plan'), limits })
    return name
  }
  return { ...found, operator, plan }
}

async function sql({ base, username, masterToken }: TestUser, q: string) {
  const url = `${base}/api/v2/sql?${new URLSearchParams({ q })}`
  const answer = await fetch(url, { headers: basic(username, masterToken) })
  return { status: answer.status, text: await answer.text() }
}

async function copyOut({ base, username, masterToken }: TestUser, q: string) {
  const url = `${base}/api/v2/sql/copyto?${new URLSearchParams({ q })}`
  const answer = await fetch(url, { headers: basic(username, masterToken) })
  return { status: answer.status, text: await answer.text().catch(String) }
}

const statusesOf = (api: JobApi, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await api.read(id)).status))

const short = { config: { queryTimeoutMs: 400, copyTimeoutMs: 400 } }

test("an account's time limit of statements and copies applies at once", async (t) => {
  const { user, operator } = await house(t, short)
  const nap = 'select pg_sleep(0.8)'
  const copy = `copy (${nap}) to stdout`
  assert.match((await sql(user, nap)).text, /400 ms .*CARTAGE_QUERY_TIMEOUT_MS/)
  await operator.users.change(user.username, {
    limits: { query_timeout_ms: 20_000, copy_timeout_ms: 20_000 },
  })
  assert.equal((await sql(user, nap)).status, 200)
  assert.equal((await copyOut(user, copy)).status, 200)
  await operator.users.change(user.username, { limits: { query_timeout_ms: 300, copy_timeout_ms: 500 } })
  for (const text of [nap, `set statement_timeout = 0; ${nap}`]) {
    const late = await sql(user, text)
    assert.equal(late.status, 429)
    assert.match(late.text, /300 ms without a row \(query_timeout_ms of the account\)/)
  }
  const { status, text } = await copyOut(user, copy)
  assert.deepEqual([status, /500 ms .*copy_timeout_ms of the account/.test(text)], [429, true], text)
  await operator.users.change(user.username, { limits: { query_timeout_ms: null } })
  assert.match((await sql(user, nap)).text, /400 ms .*CARTAGE_QUERY_TIMEOUT_MS/)
})

test("an account's own limit overrides its plan's, which overrides the configured one; null removes it", async (t) => {
  const { user, operator, plan } = await house(t)
  const name = await plan({ query_timeout_ms: 7_000, jobs_at_once: 3, rates: { sql: '5/60', keys: '9/60' } })
  const changed = await operator.users.change(user.username, {
    plan: name,
    limits: { jobs_at_once: 2, rates: { sql: 'off' } },
  })
  assert.deepEqual([changed.plan, changed.limits], [name, { jobs_at_once: 2, rates: { sql: 'off' } }])
  const { query_timeout_ms, jobs_at_once, jobs_queued, rates } = changed.effective_limits
  assert.deepEqual([query_timeout_ms, jobs_at_once, jobs_queued], [7_000, 2, 64])
  assert.deepEqual([rates.sql, rates.keys, rates.jobs], ['off', '9/60', 'off'])
  const freed = await operator.users.change(user.username, { limits: { jobs_at_once: null, rates: null } })
  assert.deepEqual([freed.effective_limits.jobs_at_once, freed.effective_limits.rates.sql], [3, '5/60'])
  const { effective_limits: without } = await operator.users.change(user.username, { plan: null })
  assert.deepEqual([without.jobs_at_once, without.rates.keys], [1, 'off'])
})

test('a changed plan applies to its users in every process once it is answered', async (t) => {
  const { user, service, keys, operator, plan } = await house(t)
  const { config } = service.services
  const other = await startService(config, keys, { http: true, worker: false }, createLog('error'))
  t.after(() => other.stop())
  const there = { ...user, base: `${other.url}/user/${user.username}` }
  const name = await plan({ query_timeout_ms: 10_000 })
  await operator.users.change(user.username, { plan: name })
  for (const ms of [200, 10_000, 150]) {
    assert.equal((await sql(there, 'select 1')).status, 200)
    await operator.plans.change(name, { query_timeout_ms: ms })
    const statuses = await Promise.all([user, there].map((at) => sql(at, 'select pg_sleep(0.5)')))
    assert.deepEqual(
      statuses.map(({ status }) => status),
      ms < 500 ? [429, 429] : [200, 200],
    )
  }
})

test('a plan with users cannot be deleted: 409 with their names', async (t) => {
  const { user, operator, plan } = await house(t)
  const name = await plan({})
  await operator.users.change(user.username, { plan: name })
  assert.equal((await operator.plans.read(name)).users, 1)
  await assert.rejects(operator.plans.delete(name), {
    status: 409,
    code: 'plan-in-use',
    message: `The plan '${name}' is in use by ${user.username}`,
  })
  await operator.users.change(user.username, { plan: null })
  await operator.plans.delete(name)
  await assert.rejects(operator.plans.read(name), { status: 404, code: 'plan-not-found' })
  await assert.rejects(operator.users.change(user.username, { plan: name }), { status: 422 })
})

test('a wrong plan or limit is refused with 422 and the place', async (t) => {
  const { user, operator, plan } = await house(t)
  const name = await plan({})
  await assert.rejects(operator.plans.create({ name }), { status: 409, code: 'plan-taken' })
  for (const refused of ['No blanks', 'none'])
    await assert.rejects(operator.plans.create({ name: refused }), { status: 422 }, refused)
  const wrong = [
    { query_timeout_ms: 0 },
    { query_timeout_ms: 2 ** 31 },
    { jobs_at_once: 1.5 },
    { connections: '4' },
    { tiles_at_once: -1 },
    { rates: { sql: 'many' } },
    { rates: [] },
    { speed: 1 },
  ]
  for (const limits of wrong as never[]) {
    const member = Object.keys(limits)[0]!
    const expected = (error: { status: number; message: string }) =>
      error.status === 422 && error.message.includes(member)
    await assert.rejects(operator.users.change(user.username, { limits }), expected, member)
    await assert.rejects(operator.plans.change(name, limits), expected, member)
  }
})

test("an account's limits say how many of its jobs run at once and how many may wait", async (t) => {
  const { user, operator, plan, createUser } = await house(t, { worker: true })
  const name = await plan({ jobs_at_once: 2, jobs_queued: 1 })
  await operator.users.change(user.username, { plan: name })
  const usual = await createUser()
  const [own, other] = [jobApi(user), jobApi(usual)]
  const long = 'select pg_sleep(600)'
  const ids: string[] = []
  for (let n = 0; n < 2; n += 1) ids.push((await own.submit(long)).job_id)
  await eventually(async () => assert.deepEqual(await statusesOf(own, ids), ['running', 'running']))
  ids.push((await own.submit(long)).job_id)
  const full = await own.call('POST', own.path(), { query: 'select 1' })
  assert.deepEqual(
    [full.status, full.body.error],
    [400, ['Failed to create job. Max number of jobs (1) queued reached']],
  )
  const others = [(await other.submit(long)).job_id, (await other.submit('select 1')).job_id]
  await eventually(async () => assert.deepEqual(await statusesOf(other, others), ['running', 'pending']))
  const { checks } = { checks: await operator.doctor() }
  assert.match(checks.find((check) => check.name === 'limits: jobs queued')!.advice, /\(1 of 1\)/)
  await operator.plans.change(name, { jobs_at_once: 3 })
  await eventually(async () => assert.equal((await own.read(ids[2]!)).status, 'running'))
  await operator.users.change(user.username, { limits: { jobs_queued: 2 } })
  for (let n = 0; n < 2; n += 1) ids.push((await own.submit(long)).job_id)
  assert.equal((await own.call('POST', own.path(), { query: 'select 1' })).status, 400)
  for (const id of ids) await own.cancel(id)
  // The waiting one first: it would be done at once.
  for (const id of others.reverse()) await other.cancel(id)
})

test("an account's time limit of jobs overrides every timeout a job sets", async (t) => {
  const { user, operator } = await house(t, { worker: true, config: { jobTimeoutMs: 500 } })
  const api = jobApi(user)
  assert.equal((await runJob(api, 'select pg_sleep(1)')).status, 'failed')
  await operator.users.change(user.username, { limits: { job_timeout_ms: 30_000 } })
  assert.equal((await runJob(api, 'select pg_sleep(1)')).status, 'done')
  await operator.users.change(user.username, { limits: { job_timeout_ms: 300 } })
  for (const text of ['select pg_sleep(30)', 'set statement_timeout = 0; select pg_sleep(30)'])
    assert.equal((await runJob(api, text)).failed_reason, 'canceling statement due to statement timeout')
})

test('an account has its own limit of connections, and the error names it', async (t) => {
  const config = { connectionWaitMs: 3_000, connectionsPerRole: 1, connectionsPerAccount: 1 }
  const { user, operator } = await house(t, { config })
  // Long enough for the other requests to get their connections, too long to wait for.
  const naps = (count: number) =>
    Promise.all(Array.from({ length: count }, () => sql(user, 'select pg_sleep(6)')))
  for (const most of [3, 1, 2]) {
    await operator.users.change(user.username, { limits: { connections: most } })
    const slept = await naps(most + 1)
    assert.deepEqual(slept.map(({ status }) => status).toSorted(), [...Array(most).fill(200), 503])
    assert.ok(slept.some(({ text }) => text.includes(`the account uses all ${most} that it may have`)))
  }
})

test('an account has its own limit of tiles made at once', async (t) => {
  const { user, operator } = await house(t, { config: { tileWaitMs: 200 } })
  await user.sql(`create table t (n int, g geometry(Point, 3857)); insert into t values (1, st_point(0, 0, 3857));
    create view slow as select pg_sleep(1)::text, g from t`)
  await operator.users.change(user.username, { limits: { tiles_at_once: 1 } })
  const ask = (limit: number) => askTiles(user, '/slow/0/0/0', { query: { limit: String(limit) } })
  const replies = await Promise.all([ask(1), ask(2)])
  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 429])
  await operator.users.change(user.username, { limits: { tiles_at_once: null } })
  const both = await Promise.all([ask(3), ask(4)])
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  )
})

test('the doctor names users whose requests were refused for their connections, tiles at once or rates', async (t) => {
  const config = { connectionWaitMs: 3_000, tileWaitMs: 200, connectionsPerAccount: 2, connectionsPerRole: 1 }
  const { user, operator, service } = await house(t, { config })
  await user.sql(`create table t (n int, g geometry(Point, 3857)); insert into t values (1, st_point(0, 0, 3857));
    create view slow as select pg_sleep(1)::text, g from t`)
  await operator.users.change(user.username, { limits: { tiles_at_once: 1 } })
  await Promise.all([sql(user, 'select pg_sleep(6)'), sql(user, 'select pg_sleep(6)')])
  await Promise.all([1, 2].map((limit) => askTiles(user, '/slow/0/0/0', { query: { limit: String(limit) } })))
  await operator.users.change(user.username, { limits: { rates: { sql: '1/600' } } })
  const session = await openSession(t, user)
  for (const status of [200, 429, 429]) assert.equal((await sql(user, 'select 1')).status, status)
  assert.equal((await session.run('select 1')).last.status, 429)
  for (const status of [200, 429])
    assert.equal((await fetch(`${user.base}/api/v2/sql?q=select+1`)).status, status)
  await usageCounts(service.services.databases).flush()
  const checks = await operator.doctor()
  const told = (name: string) => {
    const { status, advice } = checks.find((check) => check.name === `limits: ${name}`)!
    return status === 'warn' ? advice : status
  }
  assert.match(told('connections'), new RegExp(`${user.username} \\(1\\)`))
  assert.match(told('tiles at once'), new RegExp(`${user.username} \\(1\\)`))
  assert.match(told('rates'), new RegExp(`${user.username} \\(3 of sql\\)`))
  assert.match(told('rates'), new RegExp(`${user.username} \\(1 of sql without a key\\)`))
})

test('the doctor names users that have used 90 % of their quota', async (t) => {
  const { user, operator } = await house(t)
  await user.sql(`create table big as select repeat('x', 1000) as x from generate_series(1, 1000)`)
  const quotaCheck = async () =>
    (await operator.doctor()).find(({ name }) => name === 'limits: quota')!.advice
  await operator.users.change(user.username, { quota_in_bytes: 100_000_000 })
  assert.ok(!(await quotaCheck()).includes(user.username))
  await operator.users.change(user.username, { quota_in_bytes: 1_000_000 })
  assert.match(await quotaCheck(), new RegExp(`${user.username} \\(1\\d\\d %\\)`))
})

test('the command line creates plans, gives them to users and shows them', async (t) => {
  const found = await house(t)
  const { user, operator } = found
  const run = async (...args: string[]) => {
    const { code, out, err } = await cartage(installation(found), ...args)
    assert.equal(code, 0, err)
    return out
  }
  const name = randomName('plan')
  await run('plan', 'create', name, '--limit', 'jobs_at_once=3', '--rate', 'sql=100/60')
  const given = await run('user', 'set', user.username, '--plan', name, '--limit', 'connections=4')
  assert.match(given, new RegExp(`plan +${name}\nlimits +connections=4 jobs_at_once=3\nrates +sql=100/60\n`))
  assert.match(await run('plan', 'list'), new RegExp(`^${name} \\(1 user\\)$`, 'm'))
  assert.match(await run('plan', 'set', name, '--limit', 'jobs_at_once=default'), /limits +as configured/)
  assert.match(await run('plan', 'show', name), /users +1\n/)
  const refused = await cartage(installation(found), 'plan', 'delete', name)
  assert.deepEqual([refused.code, refused.err.includes(user.username)], [1, true])
  await run('user', 'set', user.username, '--plan', 'none')
  await run('plan', 'delete', name)
  const { records } = { records: await operator.audit({ limit: 50 }) }
  const noted = records.filter(({ subject }) => subject === name).map(({ action }) => action)
  assert.deepEqual(noted, ['plan.deleted', 'plan.changed', 'plan.created'])
})
