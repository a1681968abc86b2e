import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobDocument } from '../../src/contract/documents.ts'
import { jobApi, type Refusal } from '../support/jobs/job-api.ts'
import { setup } from '../support/service/setup.ts'

test('a mistyped member of a job is named in the error, and nothing is queued', async (t) => {
  const { user, admin, service } = await setup(t)
  const api = jobApi(user)
  const { job_id: waiting } = await api.submit('select 1')
  for (const [method, path] of [
    ['POST', api.path()],
    ['PUT', api.path(waiting)],
  ] as const) {
    for (const [body, member] of [
      [{ query: 'select 1', onfailure: 'select 2' }, 'onfailure'],
      [{ qury: 'select 1' }, 'qury'],
    ] as const) {
      const { status, body: answer } = await api.call(method, path, body)
      assert.deepEqual([status, answer.error], [400, [`The body has an unknown member: ${member}`]])
    }
  }
  const { rows } = await admin(
    'select count(*)::int as jobs from cartage.jobs where user_id = $1',
    [user.account.userId],
    service.services.config.namespace,
  )
  assert.deepEqual(rows, [{ jobs: 1 }])
})

test('the document of an ended job can be posted again unchanged, in each form', async (t) => {
  const { user } = await setup(t, { worker: true })
  const api = jobApi(user)
  for (const query of [
    'select nothing',
    ['select 1', { query: 'select nothing', onerror: 'select 2' }],
    { query: ['select 1', 'select nothing'], onerror: 'select 2' },
  ]) {
    const ended = await api.ended((await api.submit(query)).job_id)
    assert.equal(ended.status, 'failed')
    const again = await api.call<JobDocument>('POST', api.path(), ended)
    assert.equal(again.status, 201, JSON.stringify(again.body))
    assert.notEqual(again.body.job_id, ended.job_id)
    const endedAgain = await api.ended(again.body.job_id)
    assert.deepEqual(withoutTimes(endedAgain), withoutTimes(ended))
  }
})

test('a JSON body without the JSON content type is refused with the type to send', async (t) => {
  const { user } = await setup(t)
  const api = jobApi(user)
  const json = JSON.stringify({ query: 'select 1' })
  const post = async (type: string) => {
    const { status, body } = await api.call<Refusal>('POST', api.path(), json, { 'content-type': type })
    return [status, body.error[0]]
  }
  assert.deepEqual(await post('application/x-www-form-urlencoded'), [
    400,
    'The body is JSON, but its Content-Type is application/x-www-form-urlencoded: send Content-Type: application/json',
  ])
  assert.deepEqual(await post('text/plain'), [
    415,
    'The Content-Type text/plain is not supported: the body is JSON, send Content-Type: application/json',
  ])
  const bare = await fetch(`${user.base}/api/v2/sql/job?api_key=${user.masterToken}`, {
    method: 'POST',
    body: new TextEncoder().encode(json),
  })
  assert.deepEqual(
    [bare.status, ((await bare.json()) as Refusal).error],
    [415, ['The body has no Content-Type: the body is JSON, send Content-Type: application/json']],
  )
})

function withoutTimes(job: JobDocument): unknown {
  return JSON.parse(
    JSON.stringify(job, (name, value) => (/_at$|^job_id$/.test(name) ? undefined : (value as unknown))),
  )
}
