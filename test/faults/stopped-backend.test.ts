import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endless, jobApi, runJob } from '../support/jobs/job-api.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { whileStopped } from '../support/postgres/stopped-backend.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('many requests that wait for a job whose cancel hangs hold up no others', async (t) => {
  const bundle = await setup(t, { worker: true })
  const { user, createUser, url, service, admin } = bundle
  const { namespace } = service.services.config
  const api = jobApi(user)
  const other = jobApi(await createUser())
  const { job_id: id } = await api.submit(endless)
  const { pid } = await untilRunning(bundle, id)
  const cancelled = await whileStopped(pid, async () => {
    const cancelling = api.cancel(id)
    await eventually(async () => {
      const { rows } = await admin(
        'select from cartage.jobs where id = $1 for update skip locked',
        [id],
        namespace,
      )
      assert.equal(rows.length, 0, 'whoever cancels it has it locked')
    })
    const waiting = Array.from({ length: 14 }, () =>
      api.call<{ status: string }>('GET', `${api.path(id)}?wait=6`),
    )
    const begun = performance.now()
    for (let turn = 0; turn < 3; turn++) {
      assert.equal((await runJob(other, 'select 1')).status, 'done')
      assert.equal((await fetch(`${url}/health/ready`)).status, 200)
    }
    assert.ok(performance.now() - begun < 8_000, 'others had to wait')
    for (const { status, body } of await Promise.all(waiting)) {
      assert.equal(status, 200)
      assert.equal(body.status, 'running')
    }
    return { cancelling, waiting: Array.from({ length: 3 }, () => api.ended(id)) }
  })
  assert.equal((await cancelled.cancelling).status, 'cancelled')
  for (const { status } of await Promise.all(cancelled.waiting)) assert.equal(status, 'cancelled')
})
