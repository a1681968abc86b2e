import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createClient } from '../../src/client/client.ts'
import { ask } from '../support/http/ask.ts'
import { type Flow, startProxy } from '../support/postgres/tcp-proxy.ts'
import { newUser } from '../support/postgres/two-hosts.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('a statement whose answer comes after the time limit is told by its outcome, and by none if it never comes', async (t) => {
  const { client, proxy, holdInsert } = await startBehindProxy(t)
  const held = holdInsert()
  const answer = client.sql('insert into t values (1) returning n')
  const flow = await held
  const before = proxy.flows().length
  // The time is over: a cancel is under way.
  await eventually(() => assert.ok(proxy.flows().length > before))
  flow.release()
  assert.deepEqual((await answer).rows, [{ n: 1 }])
  const neverReleased = holdInsert()
  await assert.rejects(client.sql('insert into t values (2) returning n'), {
    status: 503,
    code: 'statement-outcome-unknown',
  })
  await neverReleased
  assert.deepEqual((await client.sql('select n from t order by n')).rows, [{ n: 1 }, { n: 2 }])
})

test('a statement that its owner or the operator cancels is told so, and a limit of its own is a limit', async (t) => {
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

test('an answer that is refused for its size says that the statement has run', async (t) => {
  const house = await setup(t, { config: { queryMaxRowBytes: 100_000 } })
  const { user } = house
  await user.sql('create table t (n int)')
  const { status, body } = await ask(user, "insert into t values (1) returning repeat('a', 1000000)")
  assert.deepEqual([status, body.code], [400, 'row-too-large'])
  const { rowCount } = await user.sql('select from t')
  assert.equal(/has completed/.test(body.detail ?? ''), rowCount === 1)
})

async function startBehindProxy(t: TestContext) {
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, installation.keys.adminUrl)
  const config = { queryTimeoutMs: 1_000 }
  const service = await installation.start({ keys: { adminUrl: proxy.url }, config })
  const client = await newUser(service, 'late')
  await client.sql('create table t (n int)')
  const holdInsert = () =>
    new Promise<Flow>((resolve) =>
      proxy.watch((flow, text) => {
        if (!text.includes('insert into t values')) return
        flow.holdAnswers()
        resolve(flow)
      }),
    )
  return { client, proxy, holdInsert }
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
