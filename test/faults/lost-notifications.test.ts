import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobApi } from '../support/job-api.ts'
import { setup } from '../support/setup.ts'

test('who waits for a job hears of its end although no notification arrives', async (t) => {
  const { user, admin, service } = await setup(t, { worker: true })
  await admin(
    `create or replace function cartage.tell(channel text, message text) returns void
     language plpgsql as 'begin end'`,
    [],
    service.services.config.namespace,
  )
  const api = jobApi(user)
  const { job_id: id } = await api.submit('select pg_sleep(1)')
  const begun = performance.now()
  const { body } = await api.call<{ status: string }>('GET', `${api.path(id)}?wait=50`)
  assert.equal(body.status, 'done')
  assert.ok(performance.now() - begun < 25_000)
})
