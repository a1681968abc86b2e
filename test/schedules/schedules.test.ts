import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import type {
  FullJobDocument,
  JobList,
  ScheduleDocument,
  ScheduleRuns,
} from '../../src/contract/documents.ts'
import { runDueSchedule } from '../../src/schedules/run-schedules.ts'
import { recordOutcomes } from '../../src/schedules/schedule-store.ts'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import type { Refusal } from '../support/jobs/job-api.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'
import { ask, openReceiver } from '../support/webhooks/receiver.ts'

function scheduleApi(user: TestUser) {
  const jobs = fullJobApi(user)
  const path = (rest = '') => `${user.base}/api/v4/schedules${rest && `/${rest}`}`
  const expect = async <Body>(status: number, answer: Promise<{ status: number; body: Body }>) => {
    const { status: found, body } = await answer
    assert.equal(found, status, JSON.stringify(body))
    return body
  }
  const { call } = jobs
  return {
    jobs,
    call,
    path,
    make: (body: object) => expect(201, call<ScheduleDocument>('POST', path(), body)),
    read: (name: string) => expect(200, call<ScheduleDocument>('GET', path(name))),
    put: (name: string, body: object) => expect(200, call<ScheduleDocument>('PUT', path(name), body)),
    runs: async (name: string) => (await expect(200, call<ScheduleRuns>('GET', path(`${name}/runs`)))).runs,
    runNow: (name: string) => expect(201, call<FullJobDocument>('POST', path(`${name}/run`))),
    refusal: async (method: string, rest: string, status: number, body?: object) =>
      (await expect(status, call<Refusal>(method, path(rest), body))).error[0]!,
  }
}

/** As if the time had passed: the first unhandled due time was this many minutes ago. */
async function setBack({ admin, service }: Setup, { account }: TestUser, name: string, minutes: number) {
  await admin(
    `update cartage.schedules set next_due_at = date_trunc('minute', clock_timestamp()) - $3 * interval '1 minute'
     where user_id = $1 and name = $2`,
    [account.userId, name, minutes],
    service.services.config.namespace,
  )
}

/** Makes it due now: at a time of its own, between those of the rule. */
async function makeDue({ admin, service }: Setup, { account }: TestUser, name: string) {
  await admin(
    'update cartage.schedules set next_due_at = clock_timestamp() where user_id = $1 and name = $2 and next_due_at is not null',
    [account.userId, name],
    service.services.config.namespace,
  )
}

/** What a worker does every second. */
async function tick({ service }: Setup): Promise<void> {
  const { databases, config } = service.services
  await recordOutcomes(databases.control, 10)
  while (await runDueSchedule(databases, config));
}

const minutely = { name: 'each', cron: '* * * * *', query: 'select 1' }

test('only the master key creates, reads, lists, replaces and deletes a schedule', async (t) => {
  const { user, createUser } = await setup(t)
  const api = scheduleApi(user)
  const made = await api.make({
    name: 'nightly',
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    query: [{ query: 'select $1::int', params: [1] }, 'select 2'],
    retry: { attempts: 2 },
    labels: ['night'],
  })
  const { next_run_at, created_at, updated_at, ...others } = made
  assert.deepEqual(others, {
    name: 'nightly',
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    query: [{ query: 'select $1::int', params: [1] }, { query: 'select 2' }],
    labels: ['night'],
    retry: { attempts: 2, backoff_s: 10 },
    enabled: true,
    overlap: 'skip',
    catch_up: 'none',
    last_job: null,
    last_status: null,
    runs_ok: 0,
    runs_failed: 0,
  })
  assert.ok(Date.parse(next_run_at!) > Date.now() && created_at && updated_at)
  assert.deepEqual(await api.read('nightly'), made)
  assert.equal(
    await api.refusal('POST', '', 409, { ...minutely, name: 'nightly' }),
    'There is a schedule nightly already',
  )
  const paused = await api.put('nightly', { ...made, enabled: false })
  assert.deepEqual([paused.enabled, paused.next_run_at, paused.query], [false, null, made.query])
  const other = scheduleApi(await createUser())
  await other.refusal('GET', 'nightly', 404)
  await other.refusal('DELETE', 'nightly', 404)
  const list = await api.call<{ schedules: ScheduleDocument[] }>('GET', api.path())
  assert.deepEqual(
    list.body.schedules.map(({ name }) => name),
    ['nightly'],
  )
  assert.equal((await fetch(api.path('nightly'), { method: 'DELETE', headers: {} })).status, 403)
  const { status } = await fetch(`${api.path('nightly')}?api_key=${user.masterToken}`, { method: 'DELETE' })
  assert.equal(status, 204)
  await api.refusal('GET', 'nightly', 404)
})

test('an invalid schedule is refused with its name, and so is the 101st', async (t) => {
  const { user } = await setup(t)
  const api = scheduleApi(user)
  const refusals: [object, RegExp][] = [
    [{ name: 'a/b' }, /name/],
    [{ cron: '* * * *' }, /cron/],
    [{ cron: '* * * * * *' }, /cron/],
    [{ cron: '61 * * * *' }, /cron/],
    [{ cron: '@reboot' }, /cron/],
    [{ cron: '0 0 31 2 *' }, /never due/],
    [{ timezone: 'Mars/Base' }, /timezone/],
    [{ overlap: 'both' }, /overlap/],
    [{ catch_up: 'all' }, /catch_up/],
    [{ enabled: 1 }, /enabled/],
    [{ query: '' }, /SQL/],
    [{ retry: { attempts: 99 } }, /attempts/],
    [{ notify: 1 }, /notify/],
    [{ nonsense: 1 }, /nonsense/],
  ]
  for (const [wrong, reason] of refusals)
    assert.match(await api.refusal('POST', '', 400, { ...minutely, ...wrong }), reason)
  for (let number = 0; number < 100; number++) await api.make({ ...minutely, name: `s${number}` })
  assert.match(await api.refusal('POST', '', 409, minutely), /at most 100/)
})

test('an account has its own limit of schedules, which concurrent requests cannot exceed', async (t) => {
  const { user, createUser, url, keys } = await setup(t)
  const api = scheduleApi(user)
  const change = (limits: unknown) =>
    fetch(`${url}/admin/v1/users/${user.username}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${keys.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ limits }),
    })
  assert.equal((await change({ schedules: 3 })).status, 200)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, number) =>
      api.call<Partial<Refusal>>('POST', api.path(), { ...minutely, name: `s${number}` }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(3).fill(201), ...Array(9).fill(409)])
  assert.match(await api.refusal('POST', '', 409, minutely), /at most 3/)
  const limitOf = async (of: ReturnType<typeof scheduleApi>) =>
    (await of.call<{ limit: number }>('GET', of.path())).body.limit
  const other = scheduleApi(await createUser())
  assert.deepEqual([await limitOf(api), await limitOf(other)], [3, 100])
  for (let number = 0; number < 4; number++) await other.make({ ...minutely, name: `s${number}` })
  assert.equal((await change({ schedules: 4 })).status, 200)
  await api.make(minutely)
  for (const wrong of [-1, 1.5, 1_001, '5'])
    assert.equal((await change({ schedules: wrong })).status, 422, JSON.stringify(wrong))
  assert.equal((await change({ schedules: null })).status, 200)
  assert.equal(await limitOf(api), 100)
})

test("a due time creates one job, at most 2 seconds late, and the list of jobs has the schedule's name", async (t) => {
  const bundle = await setup(t, { worker: true })
  const { user } = bundle
  const api = scheduleApi(user)
  await user.sql('create table log (at timestamptz default clock_timestamp())')
  await api.make({ ...minutely, query: 'insert into log default values' })
  // The next due time is now, not at the full minute.
  const dueAt = new Date(Date.now() + 1_500)
  await bundle.admin(
    'update cartage.schedules set next_due_at = $2 where user_id = $1',
    [user.account.userId, dueAt],
    bundle.service.services.config.namespace,
  )
  const { schedule, started_at, status } = await eventually(async () => {
    const { body } = await api.call<JobList>('GET', `${api.jobs.path()}?schedule=each`)
    assert.equal(body.jobs[0]?.status, 'done', JSON.stringify(body))
    assert.equal(body.jobs.length, 1)
    return body.jobs[0]!
  })
  assert.deepEqual([schedule, status], ['each', 'done'])
  const lateMs = Date.parse(started_at!) - dueAt.getTime()
  assert.ok(lateMs >= 0 && lateMs <= 2_000, String(lateMs))
  await eventually(async () => {
    const { runs_ok, last_status, next_run_at } = await api.read('each')
    assert.deepEqual([runs_ok, last_status], [1, 'done'])
    assert.ok(Date.parse(next_run_at!) > Date.now())
  })
  const other = await api.call<JobList>('GET', `${api.jobs.path()}?schedule=other`)
  assert.deepEqual(other.body.jobs, [])
})

test('missed due times are recorded as skipped; with catch_up the last of them runs', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  const api = scheduleApi(user)
  await api.make(minutely)
  await api.make({ ...minutely, name: 'last', catch_up: 'last', cron: '0 0 1 1 *' })
  await setBack(bundle, user, 'each', 700)
  await tick(bundle)
  const all = await api.call<ScheduleRuns>('GET', `${api.path('each/runs')}?per_page=100`)
  const [newest, ...older] = all.body.runs
  assert.ok(newest!.job_id && newest!.status === 'pending', JSON.stringify(newest))
  assert.ok(older.every(({ skipped }) => skipped === 'missed'))
  const { rows } = await bundle.admin(
    `select count(*)::int as runs, count(distinct due_at)::int as times, count(job_id)::int as jobs
     from cartage.schedule_runs where user_id = $1 and name = 'each'`,
    [user.account.userId],
    bundle.service.services.config.namespace,
  )
  assert.ok(rows[0].runs === rows[0].times && rows[0].runs >= 701, JSON.stringify(rows))
  assert.equal(rows[0].jobs, 1)
  await setBack(bundle, user, 'last', 90)
  await tick(bundle)
  assert.equal((await api.runs('last')).filter(({ job_id }) => job_id).length, 1)
})

test('while its job runs, a due time of a schedule is skipped, or queued with overlap queue', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  const api = scheduleApi(user)
  for (const overlap of ['skip', 'queue']) {
    await api.make({ ...minutely, name: overlap, overlap })
    const job = await api.runNow(overlap)
    assert.deepEqual([job.schedule, job.name], [overlap, overlap])
    await setBack(bundle, user, overlap, 0)
    await tick(bundle)
  }
  const [skipped] = (await api.runs('skip')).filter(({ manual }) => !manual)
  assert.equal(skipped!.skipped, 'overlap')
  assert.equal(await api.refusal('POST', 'skip/run', 409), 'A job of the schedule skip has not ended')
  const queued = await api.runs('queue')
  assert.deepEqual(
    queued.map(({ status }) => status),
    ['pending', 'pending'],
  )
  await api.runNow('queue')
})

test('with several workers each due time still creates one job', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  const api = scheduleApi(user)
  for (let number = 0; number < 8; number++) {
    await api.make({ ...minutely, name: `s${number}`, overlap: 'queue' })
    await setBack(bundle, user, `s${number}`, 0)
  }
  await Promise.all(Array.from({ length: 6 }, () => tick(bundle)))
  await tick(bundle)
  for (let number = 0; number < 8; number++) {
    const runs = await api.runs(`s${number}`)
    assert.equal(new Set(runs.map(({ due_at }) => due_at)).size, runs.length)
    const { body } = await api.call<JobList>('GET', `${api.jobs.path()}?schedule=s${number}`)
    assert.deepEqual(body.jobs.map(({ job_id }) => job_id).sort(), runs.map(({ job_id }) => job_id!).sort())
    assert.ok(runs.length >= 1)
  }
})

test('a clock that is set back repeats no due time', async (t) => {
  const bundle = await setup(t)
  const { user, admin, service } = bundle
  const api = scheduleApi(user)
  await api.make(minutely)
  await setBack(bundle, user, 'each', 0)
  await tick(bundle)
  const before = await api.runs('each')
  // The clock goes back an hour: seen from then, the next due time is further ahead.
  await admin(
    `update cartage.schedules set next_due_at = next_due_at + interval '1 hour' where user_id = $1`,
    [user.account.userId],
    service.services.config.namespace,
  )
  await tick(bundle)
  assert.deepEqual(await api.runs('each'), before)
  const again = await api.put('each', { ...minutely, query: 'select 2' })
  assert.ok(Date.parse(again.next_run_at!) > Date.now() + 3_000_000, 'a change brings no due time back')
})

test('pausing and resuming a schedule repeats no due time', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  const api = scheduleApi(user)
  await api.make(minutely)
  const { next_run_at: first } = await api.read('each')
  // As if a worker with a fast clock had run the next due time already.
  await setBack(bundle, user, 'each', -1)
  const { rows } = await bundle.admin(
    `insert into cartage.schedule_runs (user_id, name, due_at, skipped) values ($1, 'each', $2, 'missed') returning due_at`,
    [user.account.userId, first],
    bundle.service.services.config.namespace,
  )
  await api.put('each', { ...minutely, enabled: false })
  const resumed = await api.put('each', minutely)
  assert.ok(Date.parse(resumed.next_run_at!) > rows[0].due_at.getTime(), JSON.stringify(resumed))
})

test("a changed rule counts from now, however far away the old rule's next time is", async (t) => {
  const { user } = await setup(t)
  const api = scheduleApi(user)
  await api.make({ ...minutely, cron: '0 0 29 2 *' })
  const changed = await api.put('each', minutely)
  assert.ok(Date.parse(changed.next_run_at!) < Date.now() + 120_000, changed.next_run_at!)
})

test('a due time before a change or pause of the schedule still runs the old definition', async (t) => {
  const bundle = await setup(t)
  const { user } = bundle
  const api = scheduleApi(user)
  for (const [name, change] of [
    ['changed', { cron: '0 0 1 1 *', query: 'select 2' }],
    ['paused', { enabled: false }],
  ] as const) {
    await api.make({ ...minutely, name })
    await setBack(bundle, user, name, 3)
    await api.put(name, { ...minutely, name, ...change })
    const [newest, ...older] = await api.runs(name)
    assert.deepEqual(
      [newest?.status, older.length >= 3 && older.every(({ skipped }) => skipped === 'missed')],
      ['pending', true],
      JSON.stringify([newest, ...older]),
    )
    assert.equal((await api.jobs.read(newest!.job_id!)).query, 'select 1')
  }
})

test('of concurrent requests to run a schedule one creates a job, and with overlap queue all do', async (t) => {
  const { user } = await setup(t)
  const api = scheduleApi(user)
  for (const [overlap, wanted] of [
    ['skip', 1],
    ['queue', 12],
  ] as const) {
    await api.make({ ...minutely, name: overlap, overlap, cron: '0 0 1 1 *' })
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => api.call('POST', api.path(`${overlap}/run`))),
    )
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [...Array(wanted).fill(201), ...Array(12 - wanted).fill(409)], overlap)
    assert.equal((await api.runs(overlap)).length, wanted)
  }
})

test('the queries of all schedules of an account have at most 4 MB together', async (t) => {
  const { user } = await setup(t)
  const api = scheduleApi(user)
  const long = { ...minutely, query: `select '${'x'.repeat(900_000)}'` }
  for (let number = 0; number < 4; number++) await api.make({ ...long, name: `s${number}` })
  assert.match(await api.refusal('POST', '', 400, { ...long, name: 's4' }), /at most 4 MB/)
  await api.put('s3', { ...long, name: 's3' })
  await api.make({ ...minutely, name: 's4' })
})

test('a schedule that failed ten times in a row is disabled with the reason, and notified; runs on request do not count', async (t) => {
  const receiver = await openReceiver()
  const bundle = await setup(t, { worker: true, config: { webhooks: [receiver.host] } })
  const { user } = bundle
  const api = scheduleApi(user)
  const hook = receiver.address()
  await ask(user, 'POST', 'webhooks', { url: hook.url, on: ['schedule.disabled'] })
  await api.make({ ...minutely, query: 'select 1/0' })
  const manual = await api.runNow('each')
  await api.jobs.ended(manual.job_id)
  for (let failures = 1; failures <= 10; failures++) {
    await eventually(async () => assert.equal((await api.read('each')).runs_failed, failures))
    await makeDue(bundle, user, 'each')
  }
  const disabled = await eventually(async () => {
    const schedule = await api.read('each')
    assert.equal(schedule.enabled, false, JSON.stringify(schedule))
    return schedule
  }, 60_000)
  assert.equal(disabled.runs_failed, 11)
  assert.match(disabled.disabled_reason!, /failed 10 times in a row.*division by zero/)
  const [told] = await hook.atLeast(1)
  assert.deepEqual(
    [told!.body.type, told!.body.data],
    ['schedule.disabled', { schedule: 'each', user: user.username, reason: disabled.disabled_reason }],
  )
  const enabled = await api.put('each', { ...minutely, enabled: true })
  assert.deepEqual([enabled.enabled, 'disabled_reason' in enabled], [true, false])
})

test('regenerating the master key changes no schedule, and deleting the account deletes them', async (t) => {
  const bundle = await setup(t)
  const { user, admin, service } = bundle
  const api = scheduleApi(user)
  await api.make(minutely)
  await api.call('POST', `${user.base}/api/v3/api_keys/Master/token/regenerate`)
  await setBack(bundle, user, 'each', 0)
  await tick(bundle)
  const count = async () =>
    (
      await admin(
        `select (select count(*) from cartage.schedules where user_id = $1)::int as schedules,
           (select count(*) from cartage.schedule_runs where user_id = $1 and job_id is not null)::int as jobs`,
        [user.account.userId],
        service.services.config.namespace,
      )
    ).rows[0]
  assert.deepEqual(await count(), { schedules: 1, jobs: 1 })
  await deleteUser(service.services.installation, user.username)
  assert.deepEqual(await count(), { schedules: 0, jobs: 0 })
})
