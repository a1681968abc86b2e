import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client, Pool } from 'pg'
import { jobApi, runJob, statusesOf } from '../support/jobs/job-api.ts'
import { findRunning, untilRunning } from '../support/postgres/running-statement.ts'
import { wakeBackend } from '../support/postgres/stopped-backend.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('a late copy of a repeated write changes nothing', async (t) => {
  const bundle = await setup(t, { worker: true, isIsolated: true })
  const { user, admin, service } = bundle
  const { control } = service.services.databases
  const api = jobApi(user)
  await runJob(api, 'create table ledger (item int)')
  const { job_id: id } = await api.submit([
    'insert into ledger values (0); select pg_sleep(2)',
    'insert into ledger values (1)',
    'insert into ledger values (2)',
    'insert into ledger values (3); select pg_sleep(60)',
  ])
  await untilRunning(bundle, id, 0)
  // The announcement of item 1 waits for the lock of the job's row. Stop its backend there and cut its connection.
  const holder = await control.connect()
  await holder.query('begin')
  await holder.query('select from cartage.jobs where id = $1 for update', [id])
  const stopped = await eventually(() => waitingWriter(bundle))
  process.kill(stopped, 'SIGSTOP')
  t.after(() => wakeBackend(stopped))
  await holder.query('commit')
  holder.release()
  cut(control, stopped)
  const running = await untilRunning(bundle, id, 3, 30_000)
  wakeBackend(stopped)
  await eventually(async () => {
    assert.equal((await admin('select from pg_stat_activity where pid = $1', [stopped])).rowCount, 0)
  })
  assert.deepEqual(statusesOf(await api.read(id)), ['done', 'done', 'done', 'running'])
  assert.deepEqual(await findRunning(bundle, id, 3), running)
  assert.equal((await api.cancel(id)).status, 'cancelled')
  assert.equal((await user.sql('select from ledger')).rowCount, 3)
})

/** The backend that has waited for a job's lock longer than a write in a shared transaction would. */
async function waitingWriter({ admin, service }: Setup): Promise<number> {
  const { rows } = await admin(
    `select pid from pg_stat_activity where datname = $1 and wait_event_type = 'Lock' and query ~ 'write_jobs'
         and clock_timestamp() - query_start > interval '300 ms'`,
    [service.services.config.namespace],
  )
  assert.equal(rows.length, 1)
  return rows[0].pid
}

function cut(control: Pool, pid: number): void {
  const { _clients: clients } = control as unknown as { _clients: (Client & PgInternals)[] }
  clients.find(({ processID }) => processID === pid)!.connection.stream.destroy()
}

type PgInternals = { processID: number; connection: { stream: { destroy(): void } } }
