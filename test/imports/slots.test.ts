import assert from 'node:assert/strict'
import { test } from 'node:test'
import { updateUser } from '../../src/accounts/update-user.ts'
import { type ImportHouse, setupImports } from '../support/imports/import-api.ts'
import { jobApi, runJob } from '../support/jobs/job-api.ts'
import { eventually, type TestUser } from '../support/service/setup.ts'

const endless = 'select pg_sleep(600)::text as a'
const noteSpan = `with a as materialized (select clock_timestamp() as began),
  b as materialized (select began, pg_sleep(0.4)::text as slept from a)
  select began, slept, clock_timestamp() as ended from b`

async function query(user: TestUser, sql: string, table: string): Promise<string> {
  const url = `${user.base}/api/v1/imports?api_key=${user.masterToken}`
  const body = JSON.stringify({ sql, table_name: table })
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { item_queue_id: string }).item_queue_id
}

const stateOf = async (user: TestUser, id: string) => {
  const answer = await fetch(`${user.base}/api/v1/imports/${id}?api_key=${user.masterToken}`)
  return ((await answer.json()) as { state: string }).state
}

const cancel = (user: TestUser, id: string) =>
  fetch(`${user.base}/api/v1/imports/${id}?api_key=${user.masterToken}`, { method: 'DELETE' })

type Span = Readonly<{ table: string; began: number; ended: number }>

/** Runs imports that record when they ran. */
async function spans({ wait }: ImportHouse, users: readonly TestUser[], each: number): Promise<Span[]> {
  const all = await Promise.all(
    users.map(async (user, index) => {
      const made: Span[] = []
      const ids: [string, string][] = []
      for (let turn = 0; turn < each; turn++)
        ids.push([`t${index}_${turn}`, await query(user, noteSpan, `t${index}_${turn}`)])
      for (const [table, id] of ids) {
        assert.equal((await wait(id, user)).state, 'complete')
        const { rows } = await user.sql(`select extract(epoch from began)::float8 as began,
          extract(epoch from ended)::float8 as ended from ${table}`)
        made.push({ table, ...(rows[0] as { began: number; ended: number }) })
      }
      return made
    }),
  )
  return all.flat()
}

const mostAtOnce = (all: readonly Span[]) =>
  Math.max(...all.map(({ began }) => all.filter((o) => o.began <= began && began < o.ended).length))

test('jobs and imports of a user do not wait for each other', async (t) => {
  const house = await setupImports(t, { jobsPerWorker: 1, jobsPerHost: 1, importsPerWorker: 1 })
  const { user, load } = house
  const long = await query(user, endless, 'never')
  await eventually(async () => assert.equal(await stateOf(user, long), 'importing'))
  assert.equal((await runJob(jobApi(user), 'select 1')).status, 'done')
  assert.equal(await stateOf(user, long), 'importing')
  assert.equal((await cancel(user, long)).status, 200)

  const { job_id: job } = await jobApi(user).submit('select pg_sleep(600)')
  await eventually(async () => assert.equal((await jobApi(user).read(job)).status, 'running'))
  assert.equal((await load('beside.csv', 'a\n1\n')).state, 'complete')
  assert.equal((await jobApi(user).read(job)).status, 'running')
  await jobApi(user).cancel(job)
})

test('a user has one import running, the oldest first', async (t) => {
  const house = await setupImports(t)
  const all = await spans(house, [house.user], 3)
  assert.equal(mostAtOnce(all), 1)
  const byTime = [...all].sort((one, other) => one.began - other.began).map(({ table }) => table)
  assert.deepEqual(byTime, ['t0_0', 't0_1', 't0_2'])
})

test('a worker runs two imports at once, of different users', async (t) => {
  const house = await setupImports(t)
  const users = [house.user]
  for (let more = 0; more < 4; more++) users.push(await house.createUser())
  assert.equal(mostAtOnce(await spans(house, users, 2)), 2)
})

test("an account's limits say how many of its imports run at once and may be unfinished", async (t) => {
  const house = await setupImports(t, { importSlots: 1, importsPerWorker: 4 })
  const { user, service } = house
  await updateUser(service.services.installation, user.username, { limits: { imports_at_once: 2 } })
  const ids = [await query(user, endless, 'first'), await query(user, endless, 'second')]
  await eventually(async () => {
    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(user, id))), ['importing', 'importing'])
  })
  const beyond = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql: endless, table_name: 'third' }),
  })
  assert.deepEqual([beyond.status, /your allowed 2 import slots/.test(await beyond.text())], [429, true])
  for (const id of ids) await cancel(user, id)
})

test("the imports of one user delay another user's by one at most", async (t) => {
  const house = await setupImports(t, { importsPerWorker: 1, importSlots: 20 })
  const { user, wait } = house
  const other = await house.createUser()
  const crowd: string[] = []
  for (let turn = 0; turn < 6; turn++) crowd.push(await query(user, noteSpan, `crowd_${turn}`))
  const single = await query(other, noteSpan, 'single')
  // Compare times, not counts: the requests themselves are slow on a busy machine.
  const queuedAt = new Date()
  await wait(single, other)
  await Promise.all(crowd.map((id) => wait(id)))
  const beganAt = async (of: TestUser, table: string): Promise<Date> =>
    (await of.sql(`select began::timestamptz as began from ${table}`)).rows[0].began
  const singleAt = await beganAt(other, 'single')
  const all = await Promise.all(crowd.map((_, turn) => beganAt(user, `crowd_${turn}`)))
  const between = all.filter((at) => at > queuedAt && at < singleAt)
  assert.ok(between.length <= 1, `${between.length} imports of the other user were begun before`)
})

test('imports that wait and end leave the counters of the queue at zero', async (t) => {
  const house = await setupImports(t, { importsPerWorker: 1 })
  const { user, wait } = house
  const long = await query(user, endless, 'long')
  await eventually(async () => assert.equal(await stateOf(user, long), 'importing'))
  const waiting = await query(user, noteSpan, 'waiting')
  assert.equal(await stateOf(user, waiting), 'pending')
  assert.equal((await cancel(user, waiting)).status, 200)
  assert.equal((await cancel(user, long)).status, 200)
  assert.equal((await wait(await query(user, noteSpan, 'last'))).state, 'complete')
  const { rows } = await house.service.services.databases.control.query(
    'select is_import, pending, running from cartage.job_queues where user_id = $1 order by 1',
    [user.account.userId],
  )
  assert.deepEqual(rows, [
    { is_import: false, pending: 0, running: 0 },
    { is_import: true, pending: 0, running: 0 },
  ])
})
