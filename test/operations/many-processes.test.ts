import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createUser } from '../../src/accounts/create-user.ts'
import { updateUser } from '../../src/accounts/update-user.ts'
import { CartageError } from '../../src/client/cartage-error.ts'
import { createAdminClient, createClient } from '../../src/client/client.ts'
import { type Installation, newInstallation } from '../support/service/installation.ts'
import { type RunningProcess, startProcess } from '../support/service/processes.ts'
import { eventually } from '../support/service/setup.ts'

test('key changes made in one process apply to the next request in any other', async (t) => {
  const { one, two } = await startPair(t, await newInstallation(t))
  const key = { name: 'reader', grants: [{ type: 'apis' as const, apis: ['sql' as const] }] }
  for (let round = 0; round < 5; round++) {
    const { token } = await one.keys.create(key)
    assert.equal(await statusOf(two.as(token)), 200)
    const { token: newToken } = await one.keys.regenerate('reader')
    assert.equal(await statusOf(two.as(token)), 401)
    assert.equal(await statusOf(two.as(newToken)), 200)
    assert.equal(await statusOf(one.as(newToken)), 200)
    await two.keys.delete('reader')
    assert.equal(await statusOf(one.as(newToken)), 401)
  }
})

test('a change waits for the other processes, and not for a time-out', async (t) => {
  const installation = await newInstallation(t)
  const [first] = [await installation.start(), await installation.start()]
  const { installation: opened } = first.services
  await createUser(opened, { username })
  const times: number[] = []
  for (let quotaBytes = 1; quotaBytes <= 20; quotaBytes++) {
    const start = performance.now()
    await updateUser(opened, username, { quotaBytes })
    times.push(performance.now() - start)
  }
  // A process that releases its lease and renews it too early would cost two seconds every other time.
  assert.ok(times.filter((ms) => ms > 1_500).length < 3, times.map(Math.round).join(' '))
})

test('jobs sent to one process are run by any worker and can be waited for in any process', async (t) => {
  const installation = await newInstallation(t)
  const { one, two } = await startPair(t, installation)
  const [first] = await Promise.all([
    startProcess(t, installation, ['worker']),
    startProcess(t, installation, ['worker']),
  ])
  const run = async () => {
    const { job_id } = await one.jobs.create('create table if not exists t (n int)')
    return (await two.jobs.finished(job_id)).status
  }
  for (let round = 0; round < 5; round++) assert.equal(await run(), 'done')
  const { job_id } = await one.jobs.create('select pg_sleep(3)')
  await eventually(async () => assert.equal((await two.jobs.read(job_id)).status, 'running'))
  assert.equal(await first.stop(), 0)
  assert.equal(await run(), 'done')
  assert.equal((await two.jobs.finished(job_id)).status, 'done')
})

test('a rolling restart under load fails no request', async (t) => {
  const installation = await newInstallation(t)
  const serve = () => startProcess(t, installation, ['serve', '--no-worker'], patient)
  const processes = await Promise.all([serve(), serve()])
  const token = await newUser(installation, processes[0].url)
  const balancer = new Balancer(processes)
  const stopBalancer = balancer.start()
  const load = startLoad(balancer, token, 4)
  for (const old of [...processes]) {
    await load.passes(50)
    const fresh = await serve()
    balancer.add(fresh)
    await load.passes(20)
    assert.equal(await old.stop(), 0)
    balancer.remove(old)
  }
  await load.passes(50)
  const { failures, served } = await load.stop()
  await stopBalancer()
  assert.deepEqual(failures, [])
  assert.ok(served > 150, `${served} requests`)
})

test('a process that is told to stop first reports not ready, and still serves', async (t) => {
  const installation = await newInstallation(t)
  const process = await startProcess(t, installation, ['serve', '--no-worker'], patient)
  const token = await newUser(installation, process.url)
  const user = createClient({ baseUrl: process.url, username, token })
  const slow = user.sql('select pg_sleep(1)')
  const ended = process.stop()
  await eventually(async () => assert.equal((await fetch(`${process.url}/health/ready`)).status, 503))
  const response = await fetch(`${process.url}/user/${username}/api/v2/sql?q=select+1&api_key=${token}`)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('connection'), 'close')
  assert.equal((await slow).total_rows, 1)
  assert.equal(await ended, 0)
})

const username = 'alice'
/** Longer than a balancer that checks ten times a second needs to notice, even on a busy machine. */
const patient = { CARTAGE_SHUTDOWN_DELAY_MS: '3000' }

async function newUser({ keys }: Installation, baseUrl: string): Promise<string> {
  const admin = createAdminClient({ baseUrl, token: keys.adminToken })
  const { api_key } = await admin.users.create({ username })
  admin.close()
  return api_key
}

async function startPair(t: TestContext, installation: Installation) {
  const serve = () => startProcess(t, installation, ['serve', '--no-worker'])
  const [first, second] = await Promise.all([serve(), serve()])
  const token = await newUser(installation, first.url)
  const clientOf = ({ url: baseUrl }: RunningProcess) => {
    const as = (other: string) => createClient({ baseUrl, username, token: other })
    return { ...as(token), as }
  }
  return { one: clientOf(first), two: clientOf(second) }
}

async function statusOf(client: ReturnType<typeof createClient>): Promise<number> {
  try {
    await client.sql('select 1')
    return 200
  } catch (error) {
    if (error instanceof CartageError) return error.status
    throw error
  } finally {
    client.close()
  }
}

/** A load balancer: sends requests in turn to processes that report ready. */
class Balancer {
  readonly #processes: Set<RunningProcess>
  #ready: RunningProcess[] = []
  #turn = 0

  constructor(processes: readonly RunningProcess[]) {
    this.#processes = new Set(processes)
    this.#ready = [...processes]
  }

  start(): () => Promise<void> {
    const stopping = new AbortController()
    const looking = this.#look(stopping.signal)
    return () => {
      stopping.abort()
      return looking
    }
  }

  add(process: RunningProcess): void {
    this.#processes.add(process)
  }

  remove(process: RunningProcess): void {
    this.#processes.delete(process)
  }

  next(): string {
    this.#turn += 1
    return this.#ready[this.#turn % this.#ready.length]!.url
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const all = [...this.#processes]
      const verdicts = await Promise.all(all.map((process) => isReady(process)))
      this.#ready = all.filter((_process, place) => verdicts[place])
      await sleep(100)
    }
  }
}

async function isReady({ url }: RunningProcess): Promise<boolean> {
  return fetch(`${url}/health/ready`).then(
    (response) => response.ok,
    () => false,
  )
}

function startLoad(balancer: Balancer, token: string, width: number) {
  const failures: unknown[] = []
  const clients = new Map<string, ReturnType<typeof createClient>>()
  let served = 0
  let isOver = false
  const clientOf = (baseUrl: string) => {
    const known = clients.get(baseUrl) ?? createClient({ baseUrl, username, token })
    clients.set(baseUrl, known)
    return known
  }
  const loops = Array.from({ length: width }, async () => {
    while (!isOver) {
      await clientOf(balancer.next())
        .sql('select 1')
        .then(
          () => {
            served += 1
          },
          (error: unknown) => failures.push(error),
        )
    }
  })
  return {
    passes: async (count: number) => {
      const goal = served + count
      await eventually(() => assert.ok(served >= goal || failures.length > 0), 60_000)
    },
    stop: async () => {
      isOver = true
      await Promise.all(loops)
      for (const client of clients.values()) client.close()
      return { failures, served }
    },
  }
}
