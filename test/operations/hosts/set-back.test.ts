import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { RunningService } from '../../../src/service/service.ts'
import { statusesOf } from '../../support/jobs/job-api.ts'
import { isError, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { startProcess } from '../../support/service/processes.ts'
import { eventually } from '../../support/service/setup.ts'

test('a statement that a host lost when it was restored runs again and does not count as done', async (t) => {
  const { service, installation, cluster } = await startWithTwoHosts(t, { worker: false })
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await client.sql('create table t (n int); create table other (n int)')
  const earlier = await copyOf(t, cluster)

  const doomed = await startProcess(t, installation, ['worker'])
  const { job_id } = await client.jobs.create(['insert into t values (1); select pg_sleep(60)', 'select 2'])
  const lost = await eventually(() => flightOf(service, job_id))
  await doomed.kill()
  await cluster.stop()
  await earlier.putBack()
  await cluster.restart()
  // Other transactions use up the xids that were given out before.
  for (let turn = 0; turn < 40; turn++) await client.sql('insert into other values (1)')
  const { rows } = await client.sql<{ status: string }>(`select pg_xact_status('${lost}') as status`)
  assert.equal(rows[0]?.status, 'committed')

  await startProcess(t, installation, ['worker'])
  await eventually(async () => {
    const now = await flightOf(service, job_id)
    assert.notEqual(now, lost, 'it is sent again')
  }, 30_000)
  assert.equal((await client.jobs.cancel(job_id)).status, 'cancelled')
  assert.equal((await client.sql('select from t')).total_rows, 0)
})

test('a control database that was restored does not run again what a host has done', async (t) => {
  const { service } = await startWithTwoHosts(t)
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await client.sql('create table t (n int)')
  const { job_id } = await client.jobs.create({
    query: [
      'insert into t values (1)',
      { query: 'insert into t values (2)', onsuccess: 'insert into t values (3)' },
    ],
    onsuccess: 'insert into t values (4)',
  })
  const done = await client.jobs.finished(job_id)
  await setBack(service, job_id)
  const again = await client.jobs.finished(job_id)
  assert.equal(again.status, 'done')
  assert.equal(done.status, 'done')
  const { rows } = await client.sql<{ n: number }>('select n from t order by n')
  assert.deepEqual(
    rows.map(({ n }) => n),
    [1, 2, 3, 4],
  )
})

test('a job that its host has done cannot be cancelled, whatever the control database was restored to', async (t) => {
  const { service, installation } = await startWithTwoHosts(t, { worker: false })
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  await client.sql('create table t (n int)')
  const worker = await startProcess(t, installation, ['worker'])
  const whole = await client.jobs.create('insert into t values (1)')
  const part = await client.jobs.create(['insert into t values (2)', 'select 1/0'])
  for (const { job_id } of [whole, part]) await client.jobs.finished(job_id)
  await worker.kill()
  for (const { job_id } of [whole, part]) await setBack(service, job_id)
  await assert.rejects(client.jobs.cancel(whole.job_id), isError(400))
  assert.equal((await client.jobs.read(whole.job_id)).status, 'done')
  await assert.rejects(client.jobs.update(part.job_id, 'select 2'), isError(400))
  const cancelled = await client.jobs.cancel(part.job_id)
  assert.deepEqual([cancelled.status, ...statusesOf(cancelled)], ['cancelled', 'done', 'pending'])
})

async function flightOf(service: RunningService, jobId: string): Promise<string> {
  const { rows } = await service.services.databases.control.query(
    'select flight_xid::text as xid from cartage.jobs where id = $1',
    [jobId],
  )
  assert.ok(rows[0]?.xid, 'the statement has been announced')
  return rows[0].xid
}

/** As after a fail-over or restore that lost the outcome of the job. */
async function setBack(service: RunningService, jobId: string): Promise<void> {
  const { control } = service.services.databases
  await control.query(
    `with job as (
       update cartage.jobs set status = 'pending', progress = null, finished_at = null, revision = 0, write_id = null
       where id = $1 returning user_id
     )
     update cartage.job_queues q set pending = q.pending + 1 from job where job.user_id = q.user_id`,
    [jobId],
  )
}

type Cluster = Readonly<{ directory: string; stop: () => Promise<void>; restart: () => Promise<void> }>

/** Copies the files of a cluster as they are now. */
async function copyOf(t: TestContext, { directory, stop, restart }: Cluster) {
  const copy = `${directory}-earlier`
  await stop()
  await copyFiles(directory, copy)
  await restart()
  t.after(() => rm(copy, { recursive: true, force: true }))
  return {
    putBack: async () => {
      await rm(directory, { recursive: true })
      await copyFiles(copy, directory)
    },
  }
}

/** With their owner, who is another user than the copying one. */
const copyFiles = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to])
