import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { createClient, JobNotFollowedError } from '../../src/client/client.ts'
import { beginCartage, cartage } from '../support/http/call.ts'
import { startFront } from '../support/http/http-front.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually, setup } from '../support/service/setup.ts'

/** An API on a fixed port and a separate worker, so that jobs continue while the API is down. */
async function restartable(t: TestContext) {
  const installation = await newInstallation(t)
  const worker = await installation.start({ parts: { http: false, worker: true } })
  const first = await installation.start()
  const { masterToken } = await createUser(first.services.installation, { username: 'alice' })
  const config = { port: Number(new URL(first.url).port) }
  return { url: first.url, masterToken, worker, first, again: () => installation.start({ config }) }
}

const sleeping = (seconds: number) => `create table made as select pg_sleep(${seconds})::text as s`

test('the client waits for a job to its end while the service restarts', async (t) => {
  const { url, masterToken, first, again } = await restartable(t)
  const client = createClient({ baseUrl: url, username: 'alice', token: masterToken })
  t.after(() => client.close())
  const lost: unknown[] = []
  const seen: string[] = []
  const job = client.jobs.run(sleeping(6), {
    onLost: (error) => lost.push(error),
    onChange: ({ status }) => seen.push(status),
  })
  await eventually(() => assert.ok(seen.includes('running')))
  await first.stop()
  await eventually(() => assert.equal(lost.length, 1))
  await again()
  assert.equal((await job).status, 'done')
})

test('`cartage job run` prints the id at once and waits for a service that restarts', async (t) => {
  const { url, masterToken, first, again } = await restartable(t)
  const me = { CARTAGE_URL: url, CARTAGE_USER: 'alice', CARTAGE_API_KEY: masterToken }
  const { child, ended } = beginCartage(me, ['job', 'run', sleeping(8)])
  let shown = ''
  child.stderr.on('data', (chunk) => {
    shown += chunk
  })
  await eventually(() => assert.match(shown, /^job [0-9a-f-]{36}\n$/))
  const id = shown.slice(4, 40)
  await first.stop()
  await eventually(() =>
    assert.match(shown, /the service does not answer; the job goes on, and cartage waits\n/),
  )
  const waiting = beginCartage(me, ['job', 'wait', id])
  const impatient = await cartage(me, 'job', 'follow', id, '--give-up-after', '1s')
  assert.equal(impatient.code, 5)
  assert.match(
    impatient.err,
    /error: The service does not answer\. The job \S+ was accepted and goes on by itself/,
  )
  assert.doesNotMatch(impatient.err, /try again/i)
  await again()
  const { code, out, err } = await ended
  assert.deepEqual([code, out], [0, `${id} done\n`])
  assert.match(err, /the service answers again\n$/)
  const waited = await waiting.ended
  assert.deepEqual([waited.code, waited.out], [0, `${id} done\n`])
})

test('a job that cannot be followed for the given time is reported as accepted, not to be repeated', async (t) => {
  const bundle = await setup(t)
  const front = await startFront(t, bundle.url)
  const client = clientOf(t, { ...bundle, url: front.url })
  const { job_id } = await client.jobs.create('select 1')
  front.next(...Array.from({ length: 200 }, () => 'lose-request' as const))
  const startedAt = performance.now()
  await assert.rejects(client.jobs.finished(job_id, { giveUpAfterMs: 500 }), (error: unknown) => {
    assert.ok(error instanceof JobNotFollowedError)
    assert.deepEqual([error.code, error.jobId], ['job-not-followed', job_id])
    return true
  })
  assert.ok(performance.now() - startedAt < 10_000)
})

test('a permanent refusal ends the wait at once', async (t) => {
  const bundle = await setup(t)
  const client = clientOf(t, bundle)
  const unknown = '00000000-0000-4000-8000-000000000000'
  await assert.rejects(client.jobs.finished(unknown), { status: 404, code: 'job-not-found' })
})

test('the same idempotency key makes one job on the command line', async (t) => {
  const house = await setup(t)
  const me = {
    CARTAGE_URL: house.url,
    CARTAGE_USER: house.user.username,
    CARTAGE_API_KEY: house.user.masterToken,
  }
  const send = (sql: string) => cartage(me, 'job', 'run', sql, '--detach', '--idempotency-key', 'nightly-1')
  const first = await send('select 1')
  const second = await send('select 1')
  assert.match(first.out, /^[0-9a-f-]{36}\n$/)
  assert.equal(second.out, first.out)
  const other = await send('select 2')
  assert.equal(other.code, 1)
  assert.match(other.err, /Idempotency-Key was used before/)
})

test('a job whose answer is lost for good names the key for repeating it', async (t) => {
  const house = await setup(t)
  const front = await startFront(t, house.url)
  const me = {
    CARTAGE_URL: front.url,
    CARTAGE_USER: house.user.username,
    CARTAGE_API_KEY: house.user.masterToken,
  }
  front.next('lose-answer', 'lose-answer', 'lose-answer', 'lose-answer')
  const lost = await cartage(me, 'job', 'run', 'select 1', '--detach')
  assert.equal(lost.code, 3)
  const [, key] = /--idempotency-key (\S+)/.exec(lost.err)!
  const sent = await cartage(me, 'job', 'run', 'select 1', '--detach', '--idempotency-key', key!)
  assert.equal(sent.code, 0)
  const { rows } = await house.admin(
    'select id from cartage.jobs where user_id = $1',
    [house.user.account.userId],
    house.service.services.config.namespace,
  )
  assert.deepEqual(rows, [{ id: sent.out.trim() }])
})
