import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanJobs } from '../../src/jobs/queue-store.ts'
import { createLog } from '../../src/log/log.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { jobApi, runJob } from '../support/jobs/job-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

/** Runs jobs that record when they ran; returns how many ran at the same time at most. */
async function mostAtOnce(users: readonly TestUser[], jobsEach: number): Promise<number> {
  const spans = await Promise.all(
    users.map(async (user) => {
      await runJob(jobApi(user), 'create table span (began timestamptz, ended timestamptz)')
      await Promise.all(
        Array.from({ length: jobsEach }, async () => {
          assert.equal((await runJob(jobApi(user), noteSpan)).status, 'done')
        }),
      )
      return (await user.sql('select began, ended from span')).rows as { began: Date; ended: Date }[]
    }),
  )
  const all = spans.flat()
  return Math.max(
    ...all.map(({ began }) => all.filter((other) => other.began <= began && began < other.ended).length),
  )
}

const noteSpan = `do $$
  declare start timestamptz := clock_timestamp();
  begin perform pg_sleep(0.25); insert into span values (start, clock_timestamp()); end $$`

test('one user has one job running, the oldest first', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = jobApi(user)
  assert.equal(await mostAtOnce([user], 3), 1)
  await runJob(api, 'create table ledger (at serial, item int)')
  const submitted: string[] = []
  for (let item = 0; item < 8; item++) {
    submitted.push((await api.submit(`insert into ledger (item) values (${item})`)).job_id)
  }
  await Promise.all(submitted.map(api.ended))
  const { rows } = await user.sql('select item from ledger order by at')
  assert.deepEqual(
    rows.map(({ item }) => item),
    [0, 1, 2, 3, 4, 5, 6, 7],
  )
})

test('jobs of several users run concurrently, up to the limit of the host across all workers', async (t) => {
  const config = { jobsPerHost: 2, jobsPerWorker: 4 }
  const { user, createUser, service } = await setup(t, { worker: true, config })
  const { databases } = service.services
  const second = await startWorker({ ...service.services, databases, log: createLog('error') })
  t.after(() => second.stop(1_000))
  const users = [user, await createUser(), await createUser(), await createUser()]
  assert.equal(await mostAtOnce(users, 3), 2)
})

test('a worker claims no more than its limit', async (t) => {
  const { user, createUser } = await setup(t, { worker: true, config: { jobsPerWorker: 2 } })
  const users = [user, await createUser(), await createUser(), await createUser()]
  assert.equal(await mostAtOnce(users, 3), 2)
})

test('a user may be given more than one slot', async (t) => {
  const { user } = await setup(t, { worker: true, config: { jobsPerUser: 3 } })
  assert.equal(await mostAtOnce([user], 6), 3)
})

test("the queue of one user delays another user's job by one slot at most", async (t) => {
  const config = { jobsPerWorker: 1, jobQueueLimit: 1000 }
  const { user, createUser } = await setup(t, { worker: true, config })
  const other = await createUser()
  const crowd = jobApi(user)
  const queued = await Promise.all(
    Array.from({ length: 150 }, () => crowd.submit({ query: ['select pg_sleep(0.02)'] })),
  )
  const single = jobApi(other)
  const { job_id: singleId } = await single.submit({ query: ['select 1'] })
  // Not its created_at: entering the queue takes longer on a busy machine.
  const queuedAt = new Date().toISOString()
  const job = await single.ended(singleId)
  const startedAt = (shown: typeof job) =>
    typeof shown.query === 'object' && 'query' in shown.query ? shown.query.query[0]!.started_at : undefined
  const all = await Promise.all(queued.map(({ job_id }) => crowd.read(job_id)))
  const between = all.filter((shown) => {
    const at = startedAt(shown)
    return at !== undefined && at > queuedAt && at < startedAt(job)!
  })
  assert.ok(between.length <= 1, `${between.length} jobs of the other user were started before`)
})

test('finished jobs are removed after their retention time, all others stay', async (t) => {
  const { user, admin, service } = await setup(t, { isIsolated: true })
  const { config, databases } = service.services
  const api = jobApi(user)
  const waiting = await api.submit('select 1')
  const finished = await Promise.all(Array.from({ length: 5 }, () => api.submit('select 1')))
  for (const { job_id } of finished) await api.cancel(job_id)
  const [old] = finished
  // Bypasses the trigger that watches changes of jobs.
  await admin(
    `set session_replication_role = replica;
     update cartage.jobs set created_at = now() - interval '31 days', updated_at = now() - interval '31 days',
       finished_at = case when finished_at is null then null else now() - interval '31 days' end
     where id in ('${old!.job_id}', '${waiting.job_id}')`,
    undefined,
    config.namespace,
  )
  assert.equal(await cleanJobs(databases.control, config.jobRetentionDays), false)
  assert.equal((await api.call('GET', api.path(old!.job_id))).status, 404)
  for (const { job_id } of [waiting, ...finished.slice(1)]) await api.read(job_id)
})
