import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { silentProxy } from '../support/postgres/silent-proxy.ts'
import { newInstallation } from '../support/service/installation.ts'
import { basic, randomName } from '../support/service/setup.ts'

/** A service whose connections to the control database can fall silent; those to tenant databases are not touched. */
async function proxiedService(t: TestContext, worker: boolean) {
  const installation = await newInstallation(t)
  const proxy = await silentProxy(t, installation.keys.adminUrl)
  const service = await installation.start({ keys: { adminUrl: proxy.url }, parts: { worker } })
  const newUser = async () => {
    const { account, masterToken } = await createUser(service.services.installation, {
      username: randomName('user'),
    })
    return jobsOf(service.url, account.username, masterToken)
  }
  return { ...proxy, service, control: installation.config.namespace, newUser }
}

function jobsOf(url: string, username: string, token: string) {
  const path = `${url}/user/${username}/api/v2/sql/job`
  const headers = { ...basic(username, token), 'content-type': 'application/json' }
  const call = async (address: string, init: RequestInit = {}) => {
    const response = await fetch(address, { headers, signal: AbortSignal.timeout(40_000), ...init })
    const body = (await response.json()) as { job_id: string; status: string }
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body }
  }
  return {
    submit: (query: string) => call(path, { method: 'POST', body: JSON.stringify({ query }) }),
    ended: async (id: string) => {
      for (;;) {
        const { status, body } = await call(`${path}/${id}?wait=5`)
        assert.ok(status === 200 || status === 503, String(status))
        if (status === 200 && body.status !== 'pending' && body.status !== 'running') return body.status
      }
    },
    count: async () => {
      const response = await fetch(
        `${url}/user/${username}/api/v2/sql?q=select+count(*)::int+as+n+from+ledger`,
        {
          headers,
        },
      )
      return ((await response.json()) as { rows: { n: number }[] }).rows[0]!.n
    },
  }
}

test('control connections that fall silent block neither new jobs nor the worker', async (t) => {
  const { control, silence, newUser } = await proxiedService(t, true)
  const jobs = await newUser()
  const first = await jobs.submit('create table ledger (item int)')
  assert.equal(await jobs.ended(first.body.job_id), 'done')
  silence(control)
  const begun = performance.now()
  const second = await jobs.submit('insert into ledger values (1)')
  assert.equal(second.status, 201, JSON.stringify(second.body))
  assert.equal(await jobs.ended(second.body.job_id), 'done')
  assert.ok(performance.now() - begun < 30_000)
  assert.equal(await jobs.count(), 1)
})

test('a stalled control database gives 503 with Retry-After within seconds', async (t) => {
  const { control, silence, speak, newUser } = await proxiedService(t, false)
  const jobs = await newUser()
  assert.equal((await jobs.submit('select 1')).status, 201)
  silence(control, { andNew: true })
  const begun = performance.now()
  const refused = await Promise.all(Array.from({ length: 20 }, () => jobs.submit('select 2')))
  assert.ok(performance.now() - begun < 25_000)
  for (const { status, retryAfter } of refused) {
    assert.equal(status, 503)
    assert.ok(Number(retryAfter) > 0)
  }
  speak()
})

test('a repeated submission whose answer was lost is recognised', async (t) => {
  const { control, silence, speak, newUser, service } = await proxiedService(t, false)
  const jobs = await newUser()
  // So that the caller is in the cache.
  for (let turn = 0; turn < 3; turn++) assert.equal((await jobs.submit('select 1')).status, 201)
  const { rows: before } = await service.services.databases.control.query('select id from cartage.jobs')
  silence(control)
  const submitted = jobs.submit('select 2')
  // The held data arrives during the repetition or after it.
  setTimeout(speak, 7_000)
  const { status, body } = await submitted
  assert.equal(status, 201, JSON.stringify(body))
  const { rows: after } = await service.services.databases.control.query('select id from cartage.jobs')
  assert.equal(after.length, before.length + 1)
})
