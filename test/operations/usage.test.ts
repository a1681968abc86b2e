import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { createAdminClient, createClient } from '../../src/client/client.ts'
import type { UsageDocument } from '../../src/contract/documents.ts'
import { adminTarget } from '../../src/postgres/session-target.ts'
import { KeepUsage } from '../../src/usage/keep-usage.ts'
import { usageCounts } from '../../src/usage/usage-counts.ts'
import { cleanUsage, takeUnmeasured, writeUsage } from '../../src/usage/usage-store.ts'
import { ask } from '../support/http/ask.ts'
import { cartage, installation } from '../support/http/call.ts'
import { openSession } from '../support/http/session-socket.ts'
import { jobApi } from '../support/jobs/job-api.ts'
import { keysClient } from '../support/keys/keys-client.ts'
import { copyfrom, copyUrl } from '../support/postgres/copying.ts'
import { newInstallation } from '../support/service/installation.ts'
import { basic, eventually, type Setup, setup } from '../support/service/setup.ts'
import { tileOf } from '../support/tiles/tile-api.ts'

test('rows, bytes, time, requests, jobs and tiles are counted by account and kind', async (t) => {
  const house = await setup(t, { worker: true })
  const { user } = house
  const other = await house.createUser()
  await ask(user, 'create table places (n int)')
  assert.equal((await ask(user, 'insert into places select generate_series(1, 30)')).status, 200)
  assert.equal((await ask(user, 'select n, pg_sleep(0.01) from places')).body.total_rows, 30)
  assert.equal((await ask(user, 'selekt')).status, 400)
  await copyfrom(user, 'copy places from stdin', '100\n101\n')
  assert.equal((await fetch(copyUrl(user, 'copyto', 'copy places to stdout'))).status, 200)
  const session = await openSession(t, user)
  await session.run('delete from places where n > 99')
  const jobs = jobApi(user)
  await jobs.ended((await jobs.submit('update places set n = n + 1')).job_id)
  await user.sql(`create table points (cartodb_id int primary key, g geometry(Point, 4326));
    insert into points values (1, st_setsrid(st_point(1, 1), 4326))`)
  for (let round = 0; round < 2; round++) await tileOf(user, '/points/0/0/0')
  await ask(other, 'select 1')
  const { periods } = await usageOf(t, house, 4 + 2 + 2 + 1 + 2)
  assert.equal(periods.length, 1)
  const { requests, jobs: ended, tiles, postgres_seconds, ...figures } = periods[0]!
  assert.deepEqual([requests.query, requests.copy, requests.tile, requests.session], [4, 2, 2, 1])
  assert.ok(requests.job! >= 2)
  assert.deepEqual([ended, tiles], [1, 2])
  assert.ok(postgres_seconds > 0.3 && postgres_seconds < 60, String(postgres_seconds))
  // 30 of the SELECT and 32 of the COPY out; 30 inserted, 2 copied in, 2 deleted, 30 updated by the job.
  assert.deepEqual([figures.rows_out, figures.rows_in], [62, 64])
  assert.ok(figures.bytes_out > 62 * 8 && figures.bytes_out < 100_000, String(figures.bytes_out))
  assert.ok(figures.bytes_in > 200 && figures.bytes_in < 100_000, String(figures.bytes_in))
  const theirs = await usageOf(t, house, 1, other.username)
  assert.deepEqual(theirs.periods[0]!.requests, { query: 1 })
})

test('a job counts what its own steps used, not what its connection did before', async (t) => {
  const house = await setup(t, { worker: true })
  const { user } = house
  await user.sql('create table places as select generate_series(1, 500) as n; create sequence tries')
  const dyingOnce = `do $$ begin
    if nextval('tries') = 1 then perform pg_terminate_backend(pg_backend_pid()), pg_sleep(60); end if;
  end $$`
  const jobs = jobApi(user)
  for (const items of [
    ['update places set n = n + 1'],
    ['delete from places where n = 2'],
    // The second item loses the connection.
    ['delete from places where n = 3', dyingOnce, 'delete from places where n = 4'],
    ['delete from places where n = 5'],
  ])
    await jobs.ended((await jobs.submit(items)).job_id)
  await eventually(async () => {
    const { periods } = await usageOf(t, house, 4)
    assert.deepEqual([periods[0]!.jobs, periods[0]!.rows_in], [4, 504])
  })
})

test('a stopping process stores its counts and adds them to those of others', async (t) => {
  const place = await newInstallation(t)
  const keeper = await place.start()
  const { masterToken } = await createUser(keeper.services.installation, { username: 'counted' })
  for (let round = 0; round < 3; round++) {
    const passing = await place.start()
    const client = createClient({ baseUrl: passing.url, username: 'counted', token: masterToken })
    await client.sql('select 1')
    client.close()
    await passing.stop()
  }
  const operator = createAdminClient({ baseUrl: keeper.url, token: place.keys.adminToken })
  t.after(() => operator.close())
  const { periods } = await operator.users.usage('counted', { by: 'month' })
  assert.equal(
    periods.reduce((sum, { requests }) => sum + (requests.query ?? 0), 0),
    3,
  )
})

test('a batch whose answer was lost is sent again and counted once', async (t) => {
  const { service, user } = await setup(t)
  const { control } = service.services.databases
  const { userId } = user.account
  const rows = [{ ...nothing, userId, kind: 'query' as const, requests: 5 }]
  const batch = { process: user.username, number: 1, rows }
  for (let round = 0; round < 3; round++) await writeUsage(control, batch)
  await writeUsage(control, { ...batch, number: 2 })
  const found = await control.query('select requests::integer from cartage.usage where user_id = $1', [
    userId,
  ])
  assert.deepEqual(found.rows, [{ requests: 10 }])
})

test('one process measures the size of the data once an hour', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { databases, log } = house.service.services
  await house.user.sql('create table big as select generate_series(1, 20000) as n')
  await forgetMeasurements(house)
  await Promise.all([new KeepUsage(databases, log).measure(), new KeepUsage(databases, log).measure()])
  await eventually(async () => {
    const [period] = (await usageOf(t, house, 0)).periods
    assert.ok(period!.disk_bytes! > 500_000, JSON.stringify(period))
  })
})

test('of more accounts than fit in an hour, those that waited longest are measured first', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { control } = house.service.services.databases
  const users = [house.user, await house.createUser(), await house.createUser()]
  const measured: number[] = []
  await forgetMeasurements(house)
  for (let hour = 0; hour < 4; hour++) {
    measured.push(...(await takeUnmeasured(control, 1)).map(({ userId }) => userId))
    await control.query(
      `update cartage.usage_measurements set taken_at = taken_at - interval '1 hour';
       update cartage.usage set hour = hour - interval '1 hour'`,
    )
  }
  const ids = users.map(({ account }) => account.userId)
  assert.deepEqual(measured, [...ids, ids[0]])
})

test('an account that cannot be measured does not keep others from it', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { databases, log } = house.service.services
  const { hostId, database } = house.user.account
  const neighbour = await house.createUser()
  await databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
    session.query(`create or replace function cartage.data_size(account text) returns bigint
      language sql set search_path = pg_catalog, pg_temp as 'select pg_sleep(60); select 1::bigint'`),
  )
  await forgetMeasurements(house)
  await new KeepUsage(databases, log).measure()
  await eventually(async () => {
    const [period] = (await usageOf(t, house, 0, neighbour.username)).periods
    assert.equal(typeof period?.disk_bytes, 'number')
  })
  assert.deepEqual((await usageOf(t, house, 0)).periods, [])
})

/** The service measures once a minute, so it may have done so before the test was ready, and may do so beside it. */
const forgetMeasurements = ({ service }: Setup) =>
  service.services.databases.control.query(
    'delete from cartage.usage_measurements; delete from cartage.usage',
  )

test('use is kept for 90 days and deleted with its account', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { databases, installation: opened } = house.service.services
  const { control } = databases
  const other = await house.createUser()
  const insert = (userId: number, days: number) =>
    control.query(
      `insert into cartage.usage (user_id, hour, kind)
       values ($1, date_trunc('hour', now(), 'UTC') - make_interval(days => $2), 'key')`,
      [userId, days],
    )
  for (const days of [1, 89, 91, 300]) await insert(house.user.account.userId, days)
  await insert(other.account.userId, 1)
  // More accounts, and more rows of one, than one step deletes.
  await control.query(
    `insert into cartage.usage (user_id, hour, kind)
     select 1000000 + n % 25, date_trunc('hour', now(), 'UTC'), 'key' || n from generate_series(1, 50) n
     union all
     select 2000000, date_trunc('hour', now(), 'UTC'), 'key' || n from generate_series(1, 6000) n`,
  )
  await deleteUser(opened, other.username)
  while (await cleanUsage(control, 90));
  const { rows } = await control.query(
    `select user_id, round(extract(epoch from now() - hour) / 86400)::integer as days
     from cartage.usage where kind like 'key%' order by hour`,
  )
  assert.deepEqual(
    rows.map(({ user_id, days }) => [user_id, days]),
    [
      [house.user.account.userId, 89],
      [house.user.account.userId, 1],
    ],
  )
})

test('the master key reads the use of its account as JSON or CSV; other keys cannot', async (t) => {
  const house = await setup(t)
  const { user } = house
  await ask(user, 'select 1')
  await usageOf(t, house, 1)
  const url = `${user.base}/api/v4/usage`
  const headers = basic(user.username, user.masterToken)
  const document = (await (await fetch(url, { headers })).json()) as UsageDocument
  assert.deepEqual([document.username, document.by], [user.username, 'day'])
  assert.equal(document.periods[0]!.requests.query, 1)
  for (const [address, accept] of [
    [`${url}?format=csv&by=hour`, '*/*'],
    [`${url}?by=hour`, 'text/csv'],
  ] as const) {
    const response = await fetch(address, { headers: { ...headers, accept } })
    assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
    const [head, line] = (await response.text()).split('\r\n')
    const column = head!.split(',').indexOf('requests_query')
    assert.equal(line!.split(',')[column], '1')
    assert.match(line!, /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z,/)
  }
  const { token } = await keysClient(user).make('other')
  assert.equal((await fetch(url, { headers: basic(user.username, token) })).status, 403)
  assert.equal((await fetch(url)).status, 403)
})

test('an hour is counted in exactly one of two adjacent ranges', async (t) => {
  const { url, keys, user, service } = await setup(t)
  await service.services.databases.control.query(
    `insert into cartage.usage (user_id, hour, kind, jobs) values ($1, '2026-02-01T10:00Z', 'job', 7)`,
    [user.account.userId],
  )
  const operator = createAdminClient({ baseUrl: url, token: keys.adminToken })
  t.after(() => operator.close())
  const [start, middle, end] = [
    '2026-02-01T08:20:00Z',
    '2026-02-01T10:30:00Z',
    '2026-02-01T12:40:00Z',
  ] as const
  const first = await operator.users.usage(user.username, { since: start, until: middle })
  const second = await operator.users.usage(user.username, { since: middle, until: end })
  assert.deepEqual([first.since, first.until], ['2026-02-01T08:00:00.000Z', '2026-02-01T10:00:00.000Z'])
  assert.deepEqual([second.since, second.until], ['2026-02-01T10:00:00.000Z', '2026-02-01T12:00:00.000Z'])
  const jobs = [first, second].map(({ periods }) => periods.map((period) => period.jobs))
  assert.deepEqual(jobs, [[], [7]])
})

test('invalid parameters of the use are 400 with a sentence', async (t) => {
  const { url, keys, user } = await setup(t)
  for (const [query, sentence] of [
    ['by=year', /^Invalid by: it must be one of hour, day, month$/],
    ['since=yesterday', /^Invalid since: it must be a day such as 2026-01-31/],
    ['since=2026-02-31', /^Invalid since: it must be a day/],
    ['until=2026-01-01T00:00:00', /^Invalid until/],
    ['until=99999-01-01', /^Invalid until/],
    ['since=2026-02-01&until=2026-02-01', /^Invalid since: it must be in an hour before the hour of until$/],
    ['since=2026-02-01T10:10:00Z&until=2026-02-01T10:50:00Z', /^Invalid since: it must be in an hour before/],
    ['since=2025-01-01&until=2026-01-01', /^Invalid since: it must be at most 100 days before until$/],
    ['since=a&since=b', /^The parameter since is given more than once$/],
    ['form=csv', /^Unknown parameter: form\. Known: since, until, by, format$/],
    ['format=xml', /^Invalid format/],
  ] as const) {
    const response = await fetch(`${url}/admin/v1/users/${user.username}/usage?${query}`, {
      headers: { authorization: `Bearer ${keys.adminToken}` },
    })
    const body = (await response.json()) as { error: string[] }
    assert.equal(response.status, 400, query)
    assert.match(body.error[0]!, sentence, query)
  }
  const unknown = await fetch(`${url}/admin/v1/users/nobody/usage`, {
    headers: { authorization: `Bearer ${keys.adminToken}` },
  })
  assert.equal(unknown.status, 404)
})

test('the command line prints the use of one user and of all', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { user } = house
  const { username } = user
  await ask(user, 'select 1')
  await usageOf(t, house, 1)
  const env = installation(house)
  const one = await cartage(env, 'usage', username)
  assert.equal(one.code, 0, one.err)
  assert.match(one.out, /^\d{4}-\d\d-\d\dT00:00:00\.000Z {2}1 requests {2}0 jobs {2}0 tiles /)
  const all = await cartage(env, 'usage', '--json')
  assert.deepEqual(
    JSON.parse(all.out).users.map((each: UsageDocument) => each.username),
    [username],
  )
  assert.match((await cartage(env, 'usage')).out, new RegExp(`^${username} {2}1 requests `))
  assert.match((await cartage(env, 'usage', username, '--csv')).out, /^from,jobs,tiles,/)
  for (const args of [
    ['--by', 'year'],
    ['--since', 'x'],
    [username, 'b'],
  ])
    assert.equal((await cartage(env, 'usage', ...args)).code, 2, args.join(' '))
  assert.equal((await cartage(env, 'usage', 'nobody')).code, 1)
})

const nothing = { requests: 0, jobs: 0, postgresMs: 0, rowsOut: 0, rowsIn: 0, bytesOut: 0, bytesIn: 0 }

/** Waits until this many requests are counted: an answer may arrive before its request has ended. */
async function usageOf(t: TestContext, house: Setup, requests: number, username = house.user.username) {
  const { url, keys, service } = house
  const operator = createAdminClient({ baseUrl: url, token: keys.adminToken })
  t.after(() => operator.close())
  return eventually(async () => {
    await usageCounts(service.services.databases).flush()
    const usage = await operator.users.usage(username)
    const counted = usage.periods.flatMap((period) => Object.values(period.requests))
    assert.ok(counted.reduce((sum, count) => sum + count, 0) >= requests, JSON.stringify(usage))
    return usage
  })
}
