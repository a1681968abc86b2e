import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { CartageError } from '../../src/client/cartage-error.ts'
import type { Client } from '../../src/client/client.ts'
import { findBinaries } from '../../src/postgres/cluster/find-binaries.ts'
import { newUser, startWithTwoHosts } from '../support/postgres/two-hosts.ts'
import { eventually } from '../support/service/setup.ts'

test('a job is done only when the synchronous replica has its commit, however the wait for it ended', async (t) => {
  const { service, cluster } = await startWithTwoHosts(t)
  await newUser(service, 'first')
  const client = await newUser(service, 'second')
  t.after(() => client.close())
  await client.sql('create table ledger (entry text)')
  const host = new pg.Client(cluster.url)
  await host.connect()
  const replica = await newReplica(t, cluster.url)
  await replica.start()
  await host.query(`alter system set synchronous_standby_names = 'replica'`)
  await host.query('select pg_reload_conf()')

  const { waitingAtCommit, isDoneWithReplica, importWithReplica } = waits({ client, host, replica })
  await t.test('when its time limit ends', async () => {
    await isDoneWithReplica(await waitingAtCommit('late', 1_000), 'late')
  })
  await t.test('when its connection is lost', async () => {
    const id = await waitingAtCommit('lost')
    await host.query(`select pg_terminate_backend(pid) from (${waiting}) found`)
    await isDoneWithReplica(id, 'lost')
  })
  await t.test('when the wait is cancelled', async () => {
    const id = await waitingAtCommit('interrupted')
    await host.query(`select pg_cancel_backend(pid) from (${waiting}) found`)
    await isDoneWithReplica(id, 'interrupted')
  })
  await t.test('when the job is cancelled', async () => {
    const id = await waitingAtCommit('cancelled')
    const refused = assert.rejects(client.jobs.cancel(id), (error: CartageError) =>
      /job status is done/.test(error.message),
    )
    await isDoneWithReplica(id, 'cancelled')
    await refused
  })
  await t.test('an import too is complete only then', importWithReplica)
  const isUnknown = async (id: string) => {
    const { status } = await client.jobs.finished(id)
    assert.equal(status, 'unknown')
  }
  await t.test('and unknown when it commits by itself in a block and its time limit ends', async () => {
    // The first COMMIT shows that it cannot run inside a transaction.
    const query = `do $$ begin commit; ${waitsForReplica};
      insert into ledger values ('block'); perform pg_sleep(0.7); commit; end $$`
    await isUnknown(await waitingAtCommit('block', 1_500, query))
  })
  await t.test('and unknown when it has its own COMMIT and its time limit ends', async () => {
    const query = `begin; ${waitsForReplica}; insert into ledger values ('own'); select pg_sleep(0.7); commit`
    await isUnknown(await waitingAtCommit('own', 1_500, query))
  })
  // Otherwise stopping the server and the service would wait for the replica.
  await host.query('alter system reset synchronous_standby_names')
  await host.query('select pg_reload_conf()')
  await replica.stop()
  await host.end()
})

const waitsForReplica = 'set local synchronous_commit = on'

type Parts = Readonly<{ client: Client; host: pg.Client; replica: Awaited<ReturnType<typeof newReplica>> }>

function waits({ client, host, replica }: Parts) {
  /** A job whose COMMIT waits for a replica that is gone. */
  const waitingAtCommit = async (
    entry: string,
    timeout?: number,
    query = `insert into ledger values ('${entry}'); select pg_sleep(0.7)`,
  ) => {
    const { job_id } = await untilItWaits(() =>
      client.jobs.create({ query: [{ query, ...(timeout && { timeout }) }] }),
    )
    return job_id
  }
  const untilItWaits = async <T>(start: () => Promise<T>): Promise<T> => {
    await replica.start()
    await eventually(async () => assert.equal((await host.query(isSynchronous)).rowCount, 1))
    const started = await start()
    await eventually(async () => assert.equal((await host.query(sleeping)).rowCount, 1))
    await replica.stop()
    await eventually(async () => assert.equal((await host.query(waiting)).rowCount, 1))
    return started
  }
  /** The job is not done before the replica is back, and then done once. */
  const isDoneWithReplica = async (id: string, entry: string) => {
    await eventually(async () => assert.equal((await host.query(waiting)).rowCount, 0))
    await sleep(300)
    assert.equal((await client.jobs.read(id)).status, 'running')
    await replica.start()
    assert.equal((await client.jobs.finished(id)).status, 'done')
    const { rows } = await client.sql(`select count(*)::int as n from ledger where entry = '${entry}'`)
    assert.deepEqual(rows, [{ n: 1 }])
  }
  const importWithReplica = async () => {
    const sql = `select 'imported' as entry from pg_sleep(0.7)`
    const { item_queue_id: id } = await untilItWaits(() =>
      client.imports.create({ sql }, { table_name: 'imported' }),
    )
    await host.query(`select pg_cancel_backend(pid) from (${waiting}) found`)
    await eventually(async () => assert.equal((await host.query(waiting)).rowCount, 0))
    await sleep(300)
    assert.equal((await client.imports.read(id)).state, 'importing')
    await replica.start()
    assert.equal((await client.imports.finished(id)).state, 'complete')
    assert.deepEqual((await client.sql('select entry from imported')).rows, [{ entry: 'imported' }])
  }
  return { waitingAtCommit, isDoneWithReplica, importWithReplica }
}

const ofTenant = `usename like '%\\_u%' and backend_type = 'client backend'`
const sleeping = `select pid from pg_stat_activity where ${ofTenant} and wait_event = 'PgSleep'`
const waiting = `select pid from pg_stat_activity where ${ofTenant} and wait_event = 'SyncRep'`
const isSynchronous = `select from pg_stat_replication where sync_state = 'sync'`

/** A program that stores the log and confirms it, like a synchronous replica. */
async function newReplica(t: TestContext, url: string) {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-replica-'))
  const [binaries] = await findBinaries()
  const { port, password, username } = new URL(url)
  const options = ['-h', '127.0.0.1', '-p', port, '-U', username, '-D', folder, '--synchronous', '--no-loop']
  const env = { PATH: process.env.PATH, PGPASSWORD: password, PGAPPNAME: 'replica' }
  let running: ChildProcess | undefined
  const stop = async () => {
    const stopped = running && once(running, 'exit')
    running?.kill('SIGKILL')
    running = undefined
    await stopped
  }
  const start = async () => {
    if (running) return
    running = spawn(join(binaries!.directory, 'pg_receivewal'), options, { env, stdio: 'ignore' })
  }
  t.after(async () => {
    await stop()
    await rm(folder, { recursive: true, force: true })
  })
  return { start, stop }
}
