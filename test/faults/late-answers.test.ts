import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createClient } from '../../src/client/client.ts'
import { ask } from '../support/http/ask.ts'
import { type Flow, startProxy } from '../support/postgres/tcp-proxy.ts'
import { newUser } from '../support/postgres/two-hosts.ts'
import { runSql } from '../support/runner/namespace.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('a statement answered after the time limit returns its outcome, or an unknown one if the answer never comes', async (t) => {
  const { client, proxy, holdAnswer } = await startBehindProxy(t)
  const held = holdAnswer('insert into t values')
  const answer = client.sql('insert into t values (1) returning n')
  const flow = await held
  const before = proxy.flows().length
  // The time limit has passed: a cancel is under way.
  await eventually(() => assert.ok(proxy.flows().length > before))
  flow.release()
  assert.deepEqual((await answer).rows, [{ n: 1 }])
  const neverReleased = holdAnswer('insert into t values')
  await assert.rejects(client.sql('insert into t values (2) returning n'), {
    status: 503,
    code: 'statement-outcome-unknown',
  })
  await neverReleased
  assert.deepEqual((await client.sql('select n from t order by n')).rows, [{ n: 1 }, { n: 2 }])
})

test('an answer of PostgreSQL is complete although it closes the connection right after', async (t) => {
  const { client, holdAnswer, endIdle } = await startBehindProxy(t, 60_000)
  const numbers = 'select i from generate_series(1, 2000) i'
  const insert = 'insert into t values (3) returning n'
  const copyDone = 'c\0\0\0\x04'
  const works: readonly [sent: string, work: () => Promise<unknown>, expected: unknown][] = [
    ['copy (', async () => lineCount(await client.copyTo(`copy (${numbers}) to stdout`)), 2000],
    [copyDone, async () => (await client.copyFrom('copy t from stdin', '1\n2\n')).total_rows, 2],
    [numbers, async () => (await client.sql(numbers)).rows.length, 2000],
    [insert, async () => (await client.sql(insert)).rows, [{ n: 3 }]],
  ]
  for (const [sent, work, expected] of works) {
    const held = holdAnswer(sent)
    const answer = work()
    const flow = await held
    await endIdle(flow)
    await eventually(() => assert.ok(flow.isClosedByServer()))
    flow.release()
    assert.deepEqual(await answer, expected, sent)
  }
  assert.deepEqual((await client.sql('select n from t order by n')).rows, [{ n: 1 }, { n: 2 }, { n: 3 }])
})

test('a statement cancelled by its owner or the operator says so, and its own statement_timeout is a limit', async (t) => {
  const house = await setup(t)
  const { user } = house
  const running = ask(user, 'select pg_sleep(30), 1 as mine')
  await cancel((text) => user.sql(text), 'pg_sleep(30), 1')
  const { status, body } = await running
  assert.deepEqual([status, body.code], [409, 'statement-cancelled'])
  const copying = assert.rejects(copyTo(house, user), { status: 409, code: 'statement-cancelled' })
  await cancel((text) => house.admin(text), 'pg_sleep(30), 2')
  await copying
  const limited = await ask(user, 'set statement_timeout = 50; select pg_sleep(30)')
  assert.deepEqual([limited.status, limited.body.code], [429, 'statement-timeout'])
  const raised = await ask(user, `do $$ begin raise 'mine' using errcode = '57014'; end $$`)
  assert.deepEqual([raised.status, raised.body.error], [400, ['mine']])
})

test('an answer refused for its size says that the statement has run', async (t) => {
  const house = await setup(t, { config: { queryMaxRowBytes: 100_000 } })
  const { user } = house
  await user.sql('create table t (n int)')
  const { status, body } = await ask(user, "insert into t values (1) returning repeat('a', 1000000)")
  assert.deepEqual([status, body.code], [400, 'row-too-large'])
  const { rowCount } = await user.sql('select from t')
  assert.equal(/has completed/.test(body.detail ?? ''), rowCount === 1)
})

async function startBehindProxy(t: TestContext, queryTimeoutMs = 1_000) {
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, installation.keys.adminUrl)
  const service = await installation.start({ keys: { adminUrl: proxy.url }, config: { queryTimeoutMs } })
  const client = await newUser(service, 'late')
  await client.sql('create table t (n int)')
  const holdAnswer = (sent: string) =>
    new Promise<Flow>((resolve) =>
      proxy.watch((flow, text) => {
        if (!text.includes(sent)) return
        flow.holdAnswers()
        resolve(flow)
      }),
    )
  const connectionString = installation.keys.adminUrl
  const endIdle = (flow: Flow) =>
    eventually(async () => {
      const end = `select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle' and client_port = $1`
      assert.equal((await runSql({ connectionString }, end, [flow.clientPort()])).rowCount, 1)
    })
  return { client, proxy, holdAnswer, endIdle }
}

async function lineCount(data: AsyncIterable<Uint8Array>): Promise<number> {
  return (await text(data)).split('\n').length - 1
}

async function copyTo({ url }: Setup, { username, masterToken: token }: TestUser): Promise<void> {
  const client = createClient({ baseUrl: url, username, token })
  await client.copyTo('copy (select pg_sleep(30), 2) to stdout')
}

function cancel(sql: (text: string) => Promise<{ rowCount: number | null }>, text: string): Promise<void> {
  return eventually(async () => {
    const { rowCount } = await sql(
      `select pg_cancel_backend(pid) from pg_stat_activity
       where state = 'active' and query like '%${text}%' and pid <> pg_backend_pid()`,
    )
    assert.equal(rowCount, 1)
  })
}
