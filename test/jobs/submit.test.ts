import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { JobDocument } from '../../src/contract/documents.ts'
import { fullJobApi } from '../support/jobs/full-job-api.ts'
import { jobApi, type Refusal } from '../support/jobs/job-api.ts'
import { basic, setup } from '../support/service/setup.ts'

test('a new job is answered with 201, status pending and its location', async (t) => {
  const { user, url } = await setup(t)
  const api = jobApi(user)
  const { status, headers, body } = await api.call<JobDocument>('POST', api.path(), { query: 'select 1' })
  assert.equal(status, 201)
  const { job_id, created_at, updated_at, ...others } = body
  assert.deepEqual(others, { user: user.username, status: 'pending', query: 'select 1' })
  assert.match(job_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(updated_at, created_at)
  const found = await api.call<JobDocument>('GET', new URL(headers.get('location')!, url).href)
  assert.deepEqual(found.body, body)
})

test('behind a proxy the location of a job has the address that clients use', async (t) => {
  const { user } = await setup(t, { config: { publicUrl: 'https://maps.example/cartage/' } })
  const api = jobApi(user)
  const { headers, body } = await api.call<JobDocument>('POST', api.path(), { query: 'select 1' })
  assert.equal(
    headers.get('location'),
    `https://maps.example/cartage/user/${user.username}/api/v2/sql/job/${body.job_id}`,
  )
})

test('each form of query is shown as it was sent, with the status of its items', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  assert.deepEqual((await api.submit(['select 1', 'select 2'])).query, [
    { query: 'select 1', status: 'pending' },
    { query: 'select 2', status: 'pending' },
  ])
  const item = { query: 'select 1', onsuccess: 'select 2', onerror: 'select 3', timeout: 1000 }
  const shown = { ...item, status: 'pending', fallback_status: 'pending' }
  assert.deepEqual((await api.submit([item, 'select 4'])).query, [
    shown,
    { query: 'select 4', status: 'pending' },
  ])
  const job = await api.submit({ query: [item], onerror: 'select 5' })
  assert.deepEqual(job.query, { query: [shown], onerror: 'select 5' })
  assert.equal(job.fallback_status, 'pending')
})

test('fallbacks beside a top-level query give the job the object form', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const job = await api.submit('select 1', { onsuccess: 'select 2' })
  assert.deepEqual(job.query, { query: [{ query: 'select 1', status: 'pending' }], onsuccess: 'select 2' })
})

test('a form body works like JSON', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const { status, body } = await api.call<JobDocument>('POST', api.path(), 'query=select+1', form)
  assert.equal(status, 201)
  assert.equal(body.query, 'select 1')
})

test('api_key and client in a body are used or ignored, never stored', async (t) => {
  const { user, admin, service } = await setup(t)
  const api = jobApi(user, {} as ReturnType<typeof basic>)
  const sent = { query: 'select 1', api_key: user.masterToken, client: 'old-client-1.0' }
  const { status, body } = await api.call<JobDocument>('POST', api.path(), sent)
  assert.equal(status, 201)
  const { rows } = await admin(
    'select j::text as row from cartage.jobs j where id = $1',
    [body.job_id],
    service.services.config.namespace,
  )
  for (const secret of [user.masterToken, 'old-client']) {
    assert.ok(!JSON.stringify(body).includes(secret))
    assert.ok(!rows[0].row.includes(secret))
  }
})

test('neither the answer nor the stored job contains a role, host, database or token', async (t) => {
  const { user, admin, service } = await setup(t)
  const { job_id } = await jobApi(user).submit('select 1')
  const { rows } = await admin(
    'select j::text as row from cartage.jobs j where id = $1',
    [job_id],
    service.services.config.namespace,
  )
  for (const secret of [user.account.masterRole, user.account.database, user.masterToken, '127.0.0.1']) {
    assert.ok(!rows[0].row.includes(secret), secret)
  }
})

test('a body without a usable query is refused, and nothing is queued', async (t) => {
  const { user, admin, service } = await setup(t)
  const api = jobApi(user)
  const missing = 'You must indicate a valid SQL'
  const refusals: [unknown, RegExp | string][] = [
    [{}, missing],
    [{ query: '' }, missing],
    [{ query: ' \n' }, missing],
    [{ query: [] }, missing],
    [{ query: null }, missing],
    [{ query: 7 }, missing],
    [{ query: true }, missing],
    [[], missing],
    ['"text"', missing],
    [{ query: [''] }, /query\[0\]/],
    [{ query: [7] }, /query\[0\]/],
    [{ query: [null] }, /query\[0\]/],
    [{ query: [['select 1']] }, /query\[0\]/],
    [{ query: [{ query: 'select 1', state: 'done' }] }, /state/],
    [{ query: [{ query: 'select 1', timeout: '5' }] }, /timeout/],
    [{ query: { query: 'select 1' } }, /query\.query/],
    [{ query: { query: [] } }, /query\.query/],
    [{ query: { query: ['select 1'], onerror: '' } }, /onerror/],
    [{ query: { query: ['select 1'], onerror: {} } }, /onerror/],
    [{ query: { query: [{ query: 'select 1', onsuccess: 5 }] } }, /onsuccess/],
    [{ query: 'select 1\u0000' }, /NUL/],
    [{ query: 'select \ud800' }, /Unicode/],
  ]
  for (const [sent, text] of refusals) {
    const { status, body } = await api.call('POST', api.path(), sent)
    assert.equal(status, 400, JSON.stringify(sent))
    assert.equal(body.error.length, 1)
    if (typeof text === 'string') assert.equal(body.error[0], text)
    else assert.match(body.error[0]!, text)
  }
  const { rows } = await admin(
    'select count(*)::int as jobs from cartage.jobs where user_id = $1',
    [user.account.userId],
    service.services.config.namespace,
  )
  assert.equal(rows[0].jobs, 0)
})

test('a body that is not JSON, not UTF-8, or nested too deep is refused', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const post = (body: string | Buffer) =>
    fetch(api.path(), {
      method: 'POST',
      headers: { ...basic(user.username, user.masterToken), 'content-type': 'application/json' },
      body,
    })
  for (const body of ['{"query": "select 1"', `${'['.repeat(50_000)}${']'.repeat(50_000)}`]) {
    const answer = await post(body)
    assert.equal(answer.status, 400)
    assert.ok(((await answer.json()) as Refusal).error.length > 0)
  }
  const latin1 = Buffer.from('{"query": "select \'\xe9\'"}', 'latin1')
  assert.equal((await post(latin1)).status, 400)
})

test('a job of more than 16384 characters is refused with its size', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const padded = (length: number) => {
    const frame = JSON.stringify({ query: '' }).length
    return { query: 'select 1'.padEnd(length - frame) }
  }
  assert.equal((await api.call('POST', api.path(), padded(16_384))).status, 201)
  const { status, body } = await api.call('POST', api.path(), padded(16_385))
  assert.equal(status, 400)
  assert.deepEqual(body.error, [
    'The query is too large: 16385 characters. The maximum allowed size is 16384 (16 KB).',
  ])
})

test('a body of more than 1 MiB is cut off while it arrives', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const { status } = await api.call('POST', api.path(), { query: 'x'.repeat(1024 ** 2) })
  assert.equal(status, 413)
})

test('a user may have a limited number of waiting jobs', async (t) => {
  const { user, createUser } = await setup(t, { config: { jobQueueLimit: 3 } })
  const api = jobApi(user)
  const { job_id } = await api.submit('select 1')
  await Promise.all([api.submit('select 2'), api.submit('select 3')])
  const { status, body, headers } = await api.call('POST', api.path(), { query: 'select 4' })
  assert.equal(status, 400)
  assert.match(headers.get('retry-after')!, /^[1-9]\d*$/)
  assert.deepEqual(body.error, ['Failed to create job. Max number of jobs (3) queued reached'])
  await jobApi(await createUser()).submit('select 1')
  await api.cancel(job_id)
  await api.submit('select 5')
})

test('concurrent requests queue exactly as many jobs as the limit allows', async (t) => {
  const { user } = await setup(t, { config: { jobQueueLimit: 3 } })
  const api = jobApi(user)
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => api.call('POST', api.path(), { query: 'select 1' })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(3).fill(201), ...Array(9).fill(400)])
})

test('jobs need the master key of the account', async (t) => {
  const { user, createUser } = await setup(t)
  const other = await createUser()
  const { job_id } = await jobApi(user).submit('select 1')
  const as = async (headers: Record<string, string>, status: number) => {
    const api = jobApi(user, headers as ReturnType<typeof basic>)
    for (const [method, id] of [
      ['POST', ''],
      ['GET', job_id],
      ['PUT', job_id],
      ['DELETE', job_id],
    ] as const) {
      const answer = await api.call(
        method,
        api.path(id),
        method === 'GET' ? undefined : { query: 'select 1' },
      )
      assert.equal(answer.status, status, method)
      assert.deepEqual(answer.body.error, ['permission denied'])
    }
  }
  await as({}, 403)
  await as(basic(user.username, 'default_public'), 403)
  await as(basic(user.username, 'wrong'), 401)
  await as(basic(user.username, other.masterToken), 401)
  await as(basic(other.username, user.masterToken), 403)
})

test('jobs have no list at the classic address, and a job of another account answers like an unknown one', async (t) => {
  const { user, createUser } = await setup(t)
  const api = jobApi(user)
  const list = await api.call('GET', api.path())
  assert.deepEqual([list.status, list.headers.get('allow')], [405, 'POST'])
  const foreign = await jobApi(await createUser()).submit('select 1')
  for (const id of [foreign.job_id, randomUUID(), 'nonsense', "'"]) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { query: 'select 1' } : undefined
      const answer = await api.call(method, api.path(encodeURIComponent(id)), body)
      assert.equal(answer.status, 404, `${method} ${id}`)
      assert.deepEqual(answer.body, { error: [`Job with id ${id} not found`], code: 'job-not-found' })
    }
  }
})

test('a repeated request with the same Idempotency-Key returns the same job', async (t) => {
  const { user, createUser } = await setup(t)
  const api = jobApi(user)
  const post = (query: unknown, key: string) =>
    api.call<JobDocument>('POST', api.path(), { query }, { 'idempotency-key': key })
  const first = await post('select 1', 'k')
  assert.equal(first.status, 201)
  assert.equal(first.headers.get('idempotency-replayed'), null)
  const again = await post('select 1', 'k')
  assert.equal(again.status, 201)
  assert.equal(again.headers.get('idempotency-replayed'), 'true')
  assert.deepEqual(again.body, first.body)
  assert.equal((await post('select 2', 'k')).status, 422)
  assert.notEqual((await post('select 1', 'other')).body.job_id, first.body.job_id)
  const stranger = jobApi(await createUser())
  const theirs = await stranger.call<JobDocument>(
    'POST',
    stranger.path(),
    { query: 'select 1' },
    { 'idempotency-key': 'k' },
  )
  assert.notEqual(theirs.body.job_id, first.body.job_id)
  assert.equal((await post('select 1', 'x'.repeat(256))).status, 400)
})

test('concurrent requests with one Idempotency-Key create one job', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      api.call<JobDocument>('POST', api.path(), { query: 'select 1' }, { 'idempotency-key': 'k' }),
    ),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(answers.map(({ body }) => body.job_id)).size, 1)
  assert.equal(answers.filter(({ headers }) => headers.has('idempotency-replayed')).length, 7)
})

test('the query of a waiting job can be changed to any valid form; nothing else can be changed', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const created = await api.submit('select 1')
  const updated = await api.update(created.job_id, ['select 2', 'select 3'])
  assert.deepEqual(updated.query, [
    { query: 'select 2', status: 'pending' },
    { query: 'select 3', status: 'pending' },
  ])
  assert.equal(updated.created_at, created.created_at)
  assert.ok(updated.updated_at > created.updated_at)
  assert.deepEqual(await api.read(created.job_id), updated)
  for (const member of ['status', 'user', 'job_id', 'created_at', 'updated_at', 'failed_reason']) {
    const { status, body } = await api.call('PUT', api.path(created.job_id), {
      query: 'select 4',
      [member]: 'x',
    })
    assert.equal(status, 400)
    assert.match(body.error[0]!, /Only query can be changed/)
  }
  assert.equal((await api.call('PUT', api.path(created.job_id), {})).status, 400)
  assert.deepEqual(await api.read(created.job_id), updated)
})

test('a job that has been cancelled cannot be changed', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const { job_id } = await api.submit('select 1')
  await api.cancel(job_id)
  const { status, body } = await api.call('PUT', api.path(job_id), { query: 'select 2' })
  assert.equal(status, 400)
  assert.deepEqual(body.error, ['Job is not pending, it cannot be updated'])
})

test('a job that is cancelled while it waits never starts', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const array = await api.submit(['select 1', { query: 'select 2', onerror: 'select 3' }])
  const cancelled = await api.cancel(array.job_id)
  assert.equal(cancelled.status, 'cancelled')
  assert.ok(cancelled.updated_at > array.updated_at)
  assert.deepEqual(cancelled.query, array.query)
  const object = await api.submit({
    query: [{ query: 'select 1', onerror: 'select 2' }],
    onsuccess: 'select 3',
  })
  const skipped = await api.cancel(object.job_id)
  assert.equal(skipped.fallback_status, 'skipped')
  assert.deepEqual(skipped.query, {
    query: [{ query: 'select 1', onerror: 'select 2', status: 'skipped', fallback_status: 'skipped' }],
    onsuccess: 'select 3',
  })
  const { status, body } = await api.call('DELETE', api.path(array.job_id))
  assert.equal(status, 400)
  assert.deepEqual(body, {
    error: ['Cannot set status from cancelled to cancelled'],
    code: 'cancel-refused',
    errors: ['The job status is cancelled, cancel is not allowed'],
  })
})

test('waiting for a job takes no longer than requested', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const { job_id } = await api.submit('select 1')
  const started = Date.now()
  const { status, body } = await api.call<JobDocument>('GET', `${api.path(job_id)}?wait=0.3`)
  assert.equal(status, 200)
  assert.equal(body.status, 'pending')
  assert.ok(Date.now() - started >= 300)
  for (const wait of ['', 'x', '-1', '1e3', 'NaN', '1&wait=2']) {
    assert.equal((await api.call('GET', `${api.path(job_id)}?wait=${wait}`)).status, 400, wait)
  }
  assert.equal((await api.call('GET', `${api.path(randomUUID())}?wait=5`)).status, 404)
})

test('a request that waits for a job is answered at once when it is cancelled, at either address', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const { job_id } = await api.submit('select 1')
  const addresses = [api.path(job_id), fullJobApi(user).path(job_id)]
  const waiting = [...addresses, ...addresses].map((address) =>
    api.call<JobDocument>('GET', `${address}?wait=60`),
  )
  await api.cancel(job_id)
  for (const { body } of await Promise.all(waiting)) assert.equal(body.status, 'cancelled')
})

test('deleting a user deletes its jobs', async (t) => {
  const { user, service, admin } = await setup(t)
  await jobApi(user).submit('select 1')
  const { deleteUser } = await import('../../src/accounts/delete-user.ts')
  await deleteUser(service.services.installation, user.username)
  for (const table of ['jobs', 'job_queues']) {
    const { rowCount } = await admin(
      `select from cartage.${table} where user_id = $1`,
      [user.account.userId],
      service.services.config.namespace,
    )
    assert.equal(rowCount, 0)
  }
})
