import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startProxy } from '../support/postgres/tcp-proxy.ts'
import { newUser } from '../support/postgres/two-hosts.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually } from '../support/service/setup.ts'

test('a job whose connection a proxy keeps cutting while its backend runs is retried and applied once', async (t) => {
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, installation.keys.adminUrl)
  const service = await installation.start({ keys: { adminUrl: proxy.url }, parts: { worker: true } })
  const client = await newUser(service, 'silent')
  await client.sql('create table t (n int)')
  const { job_id } = await client.jobs.create('insert into t select 1 from pg_sleep(3)')
  const sent = () => proxy.flows().filter((flow) => flow.sent().includes('set local statement_timeout'))
  for (let cuts = 1; cuts <= 4; cuts += 1) {
    await eventually(() => assert.equal(sent().length, cuts))
    sent().at(-1)!.cut()
  }
  const { status, failed_reason } = await client.jobs.finished(job_id)
  assert.deepEqual({ status, failed_reason }, { status: 'done', failed_reason: undefined })
  assert.deepEqual((await client.sql('select n from t')).rows, [{ n: 1 }])
})
