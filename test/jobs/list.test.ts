import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FullJobDocument, JobList } from '../../src/contract/documents.ts'
import { itemsOf, jobApi } from '../support/jobs/job-api.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { basic, eventually, setup, type TestUser } from '../support/service/setup.ts'

const path = (user: TestUser, query: Record<string, string> = {}) =>
  `${user.base}/api/v4/jobs?${new URLSearchParams(query)}`

function listOf(user: TestUser) {
  const api = jobApi(user)
  return {
    ...api,
    page: async (query: Record<string, string> = {}): Promise<JobList> => {
      const { status, body } = await api.call<JobList>('GET', path(user, query))
      assert.equal(status, 200, JSON.stringify(body))
      return body
    },
    make: async (body: object): Promise<FullJobDocument> => {
      const { status, body: job } = await api.call<FullJobDocument>('POST', path(user), body)
      assert.equal(status, 201, JSON.stringify(job))
      return job
    },
  }
}

const idsOf = ({ jobs }: JobList) => jobs.map(({ job_id }) => job_id)

test('the list has all jobs of the account in every status, newest first, and none of other accounts', async (t) => {
  const { user, createUser } = await setup(t, { worker: true })
  const api = listOf(user)
  const other = await createUser()
  await listOf(other).submit('select 1')
  const ids: string[] = []
  for (const query of ['select 1', 'select 1/0', ['select 2', 'select 3']]) {
    const { job_id: id } = await api.submit(query)
    ids.unshift(id)
    await api.ended(id)
  }
  ids.unshift((await api.submit('select pg_sleep(60)')).job_id, (await api.submit('select 4')).job_id)
  ids.splice(0, 2, ids[1]!, ids[0]!)
  await eventually(async () => {
    const { jobs, next } = await api.page()
    assert.deepEqual([jobs.map(({ job_id }) => job_id), next], [ids, null])
    assert.deepEqual(
      jobs.map(({ status }) => status),
      ['pending', 'running', 'done', 'failed', 'done'],
    )
  })
  assert.equal((await api.page()).jobs[3]!.failed_reason, 'division by zero')
})

test('each page names the start of the next one, and no job is missing or listed twice', async (t) => {
  const { user } = await setup(t)
  const api = listOf(user)
  const made: string[] = []
  for (let left = 7; left > 0; left--) made.unshift((await api.submit(`select ${left}`)).job_id)
  for (const id of made.slice(2, 5)) await api.cancel(id)
  const found: string[] = []
  let after = ''
  for (;;) {
    const page = await api.page({ per_page: '2', after })
    found.push(...idsOf(page))
    if (page.next === null) break
    // A job submitted meanwhile is newer than every later page.
    await api.submit('select 0')
    after = page.next
  }
  assert.deepEqual(found, made)
})

test('jobs are found by status, label, time and a part of their SQL', async (t) => {
  const { user } = await setup(t)
  const api = listOf(user)
  const nightly = await api.make({ query: 'select 1', labels: ['nightly', 'env=prod'] })
  const cancelled = await api.make({ query: ['select 2', 'VACUUM places_100%'], labels: ['nightly'] })
  await api.cancel(cancelled.job_id)
  const plain = await api.submit('select 3')
  const found = async (query: Record<string, string>) => idsOf(await api.page(query))
  assert.deepEqual(await found({ status: 'cancelled' }), [cancelled.job_id])
  assert.deepEqual(await found({ status: 'pending' }), [plain.job_id, nightly.job_id])
  assert.deepEqual(await found({ status: 'done' }), [])
  assert.deepEqual(await found({ label: 'nightly' }), [cancelled.job_id, nightly.job_id])
  assert.deepEqual(await found({ label: 'nightly', status: 'cancelled' }), [cancelled.job_id])
  assert.deepEqual(await found({ label: 'night' }), [])
  assert.deepEqual(await found({ text: 'vacuum PLACES' }), [cancelled.job_id])
  assert.deepEqual(await found({ text: '100%' }), [cancelled.job_id])
  assert.deepEqual(await found({ text: 's_lect' }), [])
  assert.deepEqual(await found({ since: plain.created_at }), [plain.job_id])
  assert.deepEqual(await found({ until: nightly.created_at }), [])
})

test('a wrong filter is refused and named', async (t) => {
  const { user } = await setup(t)
  const { call } = jobApi(user)
  for (const [name, value] of Object.entries({
    status: 'finished',
    since: 'yesterday',
    until: '2026-13-45',
    per_page: '101',
    after: 'x',
    text: 'x'.repeat(201),
  })) {
    const { status, body } = await call('GET', path(user, { [name]: value }))
    assert.equal(status, 400)
    assert.match(body.error[0]!, new RegExp(name))
  }
  assert.equal((await call('GET', path(user, { text: 'x'.repeat(200) }))).status, 200)
})

test('only the master key can list jobs', async (t) => {
  const { user } = await setup(t)
  const { token } = await keysClient(user).make('k', grantsOf())
  const statusOf = async (headers: Record<string, string>) =>
    (await fetch(path(user), { headers: headers as Record<string, string> })).status
  assert.equal(await statusOf({}), 403)
  assert.equal(await statusOf(basic(user.username, token)), 403)
})

test('/api/v4/jobs gives a job a name, labels and a time limit, and a change of its query keeps them', async (t) => {
  const { user } = await setup(t)
  const api = listOf(user)
  const tags = { name: 'Größe der Städte', labels: ['a', 'b'], timeout: 5_000 }
  const job = await api.make({ query: 'select 1', ...tags })
  const { name, labels, timeout } = job
  assert.deepEqual({ name, labels, timeout }, tags)
  const changed = await api.call<FullJobDocument>('PUT', `${user.base}/api/v4/jobs/${job.job_id}`, {
    query: ['select 2'],
  })
  assert.deepEqual([changed.body.name, changed.body.labels], [tags.name, tags.labels])
  assert.deepEqual(
    Object.keys(await api.read(job.job_id)).filter((member) => ['name', 'labels'].includes(member)),
    [],
    'the classic document keeps its shape',
  )
  const again = await api.make(changed.body)
  assert.deepEqual(
    [again.name, again.labels],
    [tags.name, tags.labels],
    'a document that was read can be sent',
  )
})

test('an invalid name or label is refused, and the classic address refuses both', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const refused = async (beside: object, url = path(user)) => {
    const { status, body } = await api.call('POST', url, { query: 'select 1', ...beside })
    assert.equal(status, 400)
    return body.error[0]!
  }
  for (const name of ['', 1, 'x'.repeat(256), 'a\nb', null])
    assert.match(await refused({ name }), /^name must/)
  for (const labels of ['a', Array.from({ length: 17 }, String)]) {
    assert.match(await refused({ labels }), /^labels must be an array of at most 16/)
  }
  for (const label of ['', 'two words', 'x'.repeat(64), 1, "'"]) {
    assert.match(await refused({ labels: ['ok', label] }), /^labels\[1\] must be a word/)
  }
  assert.match(await refused({ timeout: 0 }), /^timeout must/)
  assert.match(await refused({ name: 'x' }, api.path()), /unknown member: name/)
})

test('a job has its start and duration, each statement too, and a waiting job its place in the queue', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = listOf(user)
  const details = async (id: string) =>
    (await api.call<FullJobDocument>('GET', `${user.base}/api/v4/jobs/${id}`)).body
  const first = await api.submit(['select pg_sleep(0.05)', 'select 1'])
  await api.ended(first.job_id)
  const ended = await details(first.job_id)
  assert.ok(ended.duration_ms! >= 50, String(ended.duration_ms))
  assert.equal(Date.parse(ended.ended_at!) - Date.parse(ended.started_at!), ended.duration_ms)
  for (const item of itemsOf(ended)) {
    assert.ok(item.started_at! >= ended.started_at! && item.ended_at! <= ended.ended_at!)
  }
  const running = await api.submit('select pg_sleep(60)')
  await eventually(async () => assert.equal((await details(running.job_id)).status, 'running'))
  assert.equal((await details(running.job_id)).position, undefined)
  await api.submit('select 1')
  const last = await api.submit('select 2')
  assert.deepEqual((await details(last.job_id)).position, { ahead: 2, is_host_busy: false })
})

test('a waiting job says when all slots of its host are taken', async (t) => {
  const { user, createUser } = await setup(t, { worker: true, config: { jobsPerHost: 1 } })
  const other = listOf(await createUser())
  const running = await other.submit('select pg_sleep(60)')
  await eventually(async () => assert.equal((await other.read(running.job_id)).status, 'running'))
  const api = listOf(user)
  const { job_id: id } = await api.submit('select 1')
  const { body } = await api.call<FullJobDocument>('GET', `${user.base}/api/v4/jobs/${id}`)
  assert.deepEqual(body.position, { ahead: 0, is_host_busy: true })
})

test('filters find a label and a text among many jobs, also beyond what one request searches', async (t) => {
  const house = await setup(t)
  const { user, admin, service } = house
  const api = listOf(user)
  const { job_id: id } = await api.make({ query: 'select 1 as needle', labels: ['rare'] })
  await api.cancel(id)
  const others = await listOf(await house.createUser()).make({ query: 'select 2', labels: ['rare'] })
  await admin(
    `insert into cartage.jobs (user_id, host_id, id, definition, status, created_at, finished_at)
     select user_id, host_id, gen_random_uuid(), '{"form":"string","items":[{"statement":"select 3"}]}', 'done',
       created_at + n * interval '1 ms', now()
     from cartage.jobs, generate_series(1, 3000) n where id = $1`,
    [id],
    service.services.config.namespace,
  )
  let page = await api.page({ text: 'NEEDLE' })
  for (let looked = 500; looked <= 3_000; looked += 500) {
    assert.deepEqual([page.jobs, typeof page.next], [[], 'string'])
    page = await api.page({ text: 'NEEDLE', after: page.next! })
  }
  assert.deepEqual([idsOf(page), page.next], [[id], null])
  assert.deepEqual(idsOf(await api.page({ label: 'rare' })), [id], others.job_id)
  const found: string[] = []
  for await (const { job_id } of clientOf(t, house).jobs.list({ per_page: 100 })) found.push(job_id)
  assert.deepEqual([found.length, new Set(found).size, found.at(-1)], [3001, 3001, id])
})

test('a page of long jobs ends early, and the client fetches the rest by itself', async (t) => {
  const house = await setup(t)
  const { user } = house
  const api = listOf(user)
  const made: string[] = []
  for (let left = 6; left > 0; left--) {
    made.unshift((await api.make({ query: `select ${left}`.padEnd(1_000_000) })).job_id)
  }
  const page = await api.page()
  assert.deepEqual([page.jobs.length, typeof page.next], [4, 'string'])
  const found: string[] = []
  for await (const { job_id } of clientOf(t, house).jobs.list()) found.push(job_id)
  assert.deepEqual(found, made)
})
