import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { queueChannel } from '../../src/jobs/queue-store.ts'
import { jobApi, runJob } from '../support/jobs/job-api.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

/** The notifications that workers of other processes get. */
async function listen(t: TestContext, { service }: Setup): Promise<string[]> {
  const heard: string[] = []
  const client = await service.services.databases.control.connect()
  t.after(() => client.release(true))
  client.on('notification', ({ payload }) => heard.push(payload ?? ''))
  await client.query(`listen ${queueChannel}`)
  return heard
}

test('a new job wakes the worker of its own process and no other', async (t) => {
  const bundle = await setup(t, { worker: true, isIsolated: true })
  const heard = await listen(t, bundle)
  for (let turn = 0; turn < 5; turn++) {
    assert.equal((await runJob(jobApi(bundle.user), 'select 1')).status, 'done')
  }
  await bundle.service.services.databases.control.query('select cartage.tell($1, $2)', [
    queueChannel,
    'the end',
  ])
  await eventually(() => assert.deepEqual(heard, ['the end']))
})

test('a new job wakes the workers of other processes if the own one is busy', async (t) => {
  const bundle = await setup(t, { worker: true, isIsolated: true, config: { jobsPerWorker: 1 } })
  const other = jobApi(await bundle.createUser())
  const api = jobApi(bundle.user)
  const { job_id: long } = await api.submit('select pg_sleep(600)')
  await eventually(async () => assert.equal((await api.read(long)).status, 'running'))
  const heard = await listen(t, bundle)
  const { job_id: id } = await other.submit('select 1')
  await eventually(async () => assert.deepEqual(heard, ['']))
  assert.equal((await api.cancel(long)).status, 'cancelled')
  assert.equal((await other.ended(id)).status, 'done')
})

test('a new job in a process without a worker wakes the workers of others', async (t) => {
  const bundle = await setup(t, { isIsolated: true })
  const heard = await listen(t, bundle)
  const { job_id: id } = await jobApi(bundle.user).submit('select 1')
  await eventually(async () => assert.deepEqual(heard, ['']))
  await jobApi(bundle.user).cancel(id)
})
