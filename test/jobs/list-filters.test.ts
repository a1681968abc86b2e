import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import type { FullJobDocument, JobList } from '../../src/contract/documents.ts'
import { cleanJobs } from '../../src/jobs/queue-store.ts'
import { jobApi } from '../support/jobs/job-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

type Filter = Record<string, string>

function listOf(user: TestUser) {
  const { call } = jobApi(user)
  const url = (query: Filter) => `${user.base}/api/v4/jobs?${new URLSearchParams(query)}`
  const page = async (query: Filter): Promise<JobList> => {
    const { status, body } = await call<JobList>('GET', url(query))
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  return {
    page,
    make: async (body: object): Promise<string> => {
      const { status, body: job } = await call<FullJobDocument>('POST', url({}), body)
      assert.equal(status, 201, JSON.stringify(job))
      return job.job_id
    },
    /** Reads all pages. */
    pages: async (query: Filter): Promise<readonly JobList[]> => {
      const pages = [await page(query)]
      for (let next = pages[0]!.next; next !== null; next = pages.at(-1)!.next) {
        pages.push(await page({ ...query, after: next }))
      }
      return pages
    },
  }
}

const idsOf = (pages: readonly JobList[]) => pages.flatMap(({ jobs }) => jobs.map(({ job_id }) => job_id))

/** Inserts finished jobs, the newest last; the columns are SQL expressions of the number `n`. */
const history = (columns: { status: string; labels: string; schedule: string; items?: string }) =>
  `insert into cartage.jobs (user_id, host_id, id, definition, status, labels, schedule, created_at, finished_at)
   select u.id, 1, gen_random_uuid(), json_build_object('form', 'string', 'items', json_build_array(
     json_build_object('statement', ${columns.items ?? `'select 1'`}))), ${columns.status}, ${columns.labels}, ${columns.schedule},
     timestamptz '2026-01-01' + n / 3 * interval '1 second', now()
   from cartage.users u, generate_series(1, $2::integer) n where u.username = $1`

test('each combination of filters lists exactly the jobs it names, page by page, newest first', async (t) => {
  const { user, admin, service } = await setup(t)
  const { namespace } = service.services.config
  const api = listOf(user)
  await admin(
    history({
      status: `(array['done', 'failed', 'cancelled', 'unknown'])[1 + n * n % 7 % 4]`,
      labels: `case when n % 5 > 0 then array['all', 'by' || n % 3] end`,
      schedule: `case when n % 2 = 0 then 's' || n % 3 end`,
    }),
    [user.username, 90],
    namespace,
  )
  await api.make({ query: 'select 1', labels: ['all', 'by0'] })
  await api.make({ query: 'select 1', not_before: '2099-01-01T00:00:00Z', labels: ['by1'] })
  await api.make({ query: 'select 1' })
  const { rows } = await admin(
    `select j.id, j.status, j.labels, j.schedule from cartage.jobs j join cartage.users u on u.id = j.user_id
     where u.username = $1 order by j.created_at desc, j.id desc`,
    [user.username],
    namespace,
  )
  for (const status of ['', 'pending', 'running', 'done', 'failed', 'unknown']) {
    for (const label of ['', 'all', 'by0', 'by1', 'none']) {
      for (const schedule of ['', 's0', 's2', 'none']) {
        const named = rows.filter(
          (row) =>
            (!status || row.status === status) &&
            (!label || row.labels?.includes(label)) &&
            (!schedule || row.schedule === schedule),
        )
        const found = idsOf(await api.pages({ status, label, schedule, per_page: '40' }))
        assert.deepEqual(
          found,
          named.map(({ id }) => id),
          JSON.stringify({ status, label, schedule }),
        )
      }
    }
  }
})

test('a job has its labels in the list however it ends; deleting the job deletes them', async (t) => {
  const { user, admin, service, createUser } = await setup(t, { worker: true, isIsolated: true })
  const { databases, config } = service.services
  const api = listOf(user)
  const jobs = jobApi(user)
  const labels = ['a', 'b']
  const done = await api.make({ query: 'select 1', labels })
  await jobs.ended(done)
  const failed = await api.make({ query: 'select 1/0', labels: [...labels, 'a'] })
  await jobs.ended(failed)
  const cancelled = await api.make({ query: 'select 1', labels, not_before: '2099-01-01T00:00:00Z' })
  await jobs.cancel(cancelled)
  const other = await createUser()
  const ofOther = await listOf(other).make({ query: 'select 1', labels })
  await jobApi(other).ended(ofOther)
  for (const label of labels) assert.deepEqual(idsOf(await api.pages({ label })), [cancelled, failed, done])
  assert.deepEqual(idsOf(await api.pages({ label: 'a', status: 'failed' })), [failed])
  const kept = async () =>
    (await admin('select distinct job_id from cartage.job_labels', [], config.namespace)).rows.map(
      ({ job_id }) => job_id,
    )
  assert.equal((await kept()).length, 4)
  // Bypasses the trigger that watches changes of jobs.
  await admin(
    `set session_replication_role = replica;
     update cartage.jobs set finished_at = now() - interval '31 days' where id = '${done}'`,
    undefined,
    config.namespace,
  )
  await cleanJobs(databases.control, config.jobRetentionDays)
  assert.deepEqual(idsOf(await api.pages({ label: 'a' })), [cancelled, failed])
  await deleteUser(service.services.installation, other.username)
  assert.deepEqual((await kept()).sort(), [cancelled, failed].sort())
})

test('two filters that many jobs match one by one, but none together, give one empty page at once', async (t) => {
  const { user, admin, service } = await setup(t)
  await admin(
    history({
      status: `'done'`,
      labels: `array['l' || n % 2]`,
      schedule: `case when n % 2 = 0 then 's' end`,
    }),
    [user.username, 2_000],
    service.services.config.namespace,
  )
  const api = listOf(user)
  assert.deepEqual(await api.page({ label: 'l1', schedule: 's' }), { jobs: [], next: null })
  assert.equal((await api.page({ label: 'l0', schedule: 's', per_page: '100' })).jobs.length, 100)
})

test('a label is searched in a bounded number of waiting jobs per request', async (t) => {
  const { user, admin, service } = await setup(t)
  const api = listOf(user)
  const wanted = await api.make({ query: 'select 1', labels: ['wanted'] })
  await admin(
    `insert into cartage.jobs (user_id, host_id, id, definition)
     select user_id, host_id, gen_random_uuid(), definition from cartage.jobs, generate_series(1, 600) where id = $1`,
    [wanted],
    service.services.config.namespace,
  )
  const pages = await api.pages({ label: 'wanted' })
  assert.deepEqual(
    pages.map(({ jobs }) => jobs.map(({ job_id }) => job_id)),
    [[], [wanted]],
  )
})

test('until and after apply together, whichever is earlier', async (t) => {
  const { user, admin, service } = await setup(t)
  await admin(
    history({ status: `'done'`, labels: 'null', schedule: 'null' }),
    [user.username, 30],
    service.services.config.namespace,
  )
  const api = listOf(user)
  const all = (await api.page({ per_page: '30' })).jobs
  const until = all[10]!.created_at
  const before = all.filter(({ created_at }) => created_at < until).map(({ job_id }) => job_id)
  assert.deepEqual(idsOf(await api.pages({ until, per_page: '4' })), before)
  assert.deepEqual(
    idsOf(await api.pages({ until: all[2]!.created_at, per_page: '3' })).slice(-before.length),
    before,
  )
})

test('a text is searched in at most 4 MB of SQL per request, however well it is compressed on disk', async (t) => {
  const { user, admin, service } = await setup(t)
  await admin(
    history({
      status: `'done'`,
      labels: 'null',
      schedule: 'null',
      items: `'select ' || repeat(' ', 1000000) || n`,
    }),
    [user.username, 10],
    service.services.config.namespace,
  )
  const api = listOf(user)
  const pages = await api.pages({ text: 'needle' })
  assert.deepEqual(
    pages.map(({ jobs }) => jobs.length),
    [0, 0, 0],
  )
  assert.equal(idsOf(await api.pages({ text: ' 7' })).length, 1)
})
