import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import type { CartageError } from '../../src/client/cartage-error.ts'
import { createAdminClient } from '../../src/client/client.ts'
import type { ActivityStatement } from '../../src/contract/documents.ts'
import { ask } from '../support/http/ask.ts'
import { openSession } from '../support/http/session-socket.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('a stop that a process reads late does not end a session that has continued', async (t) => {
  const { user, operator, shown, bundle } = await house(t)
  const session = await openSession(t, user)
  await session.run('begin')
  const { id } = await shown(({ kind, text }) => kind === 'session' && text === null)
  const { stop, letRead } = await readLate(t, bundle, () => operator.stopActivity(id))
  assert.equal((await session.run('select 1')).last.type, 'done')
  await letRead()
  assert.equal(((await stop) as CartageError).code, 'activity-not-found')
  const { last } = await session.run('select 2')
  assert.deepEqual([last.type, last.transaction], ['done', 'open'])
})

test('a statement that ended before its process read the stop is not reported as stopped', async (t) => {
  const { user, operator, shown, bundle } = await house(t)
  const answer = ask(user, 'select pg_sleep(600) as nap')
  await shown(({ kind, waits_for }) => kind === 'query' && waits_for === 'server')
  const { stop, letRead } = await readLate(t, bundle, () => operator.users.stopActivity(user.username))
  await bundle.admin(
    `select pg_cancel_backend(pid) from pg_stat_activity where datname = $1 and query like '%as nap%'`,
    [user.account.database],
  )
  assert.match((await answer).body.error[0]!, /pg_cancel_backend/)
  await letRead()
  assert.deepEqual(await stop, { stopped: [], silent_processes: 0 })
  assert.deepEqual(await operator.audit({ account: user.username, action: 'activity.stopped' }), [])
})

test('a statement that completes despite a stop is answered by its outcome', async (t) => {
  const { user, operator, shown } = await house(t)
  await user.sql('create table places (n int)')
  const stubborn = (n: number) => `do $$ begin perform pg_sleep(600);
    exception when query_canceled then insert into places values (${n}); end $$`
  const session = await openSession(t, user)
  const inSession = session.run(stubborn(1))
  const answer = ask(user, stubborn(2))
  for (const kind of ['session', 'query'] as const) {
    const { id } = await shown((each) => each.kind === kind && each.waits_for === 'server')
    await operator.stopActivity(id)
  }
  assert.equal((await answer).status, 200)
  assert.equal((await inSession).last.type, 'done')
  const { body } = await ask(user, 'select n from places order by n')
  assert.deepEqual(body.rows, [{ n: 1 }, { n: 2 }])
})

test('a stopped statement whose rows were dropped says that it has completed', async (t) => {
  const { user, operator, shown } = await house(t)
  await user.sql(`create function stubborn() returns int language plpgsql as $$ begin perform pg_sleep(600);
    exception when query_canceled then return 1; end $$`)
  const answer = ask(user, 'select stubborn() as n')
  const { id } = await shown(({ kind, waits_for }) => kind === 'query' && waits_for === 'server')
  await operator.stopActivity(id)
  const { status, body } = await answer
  assert.deepEqual([status, body.code], [409, 'statement-cancelled'])
  assert.match(body.detail ?? '', /has completed/)
})

/** Sends a stop and keeps the notified process from reading it. */
async function readLate<T>(t: TestContext, bundle: Setup, ask: () => Promise<T>) {
  const [first, second, watch] = await Promise.all([1, 2, 3].map(() => connectControl(t, bundle)))
  const waiting = (mode: string) =>
    eventually(async () => {
      const { rowCount } = await watch!.query(
        `select from pg_locks where relation = 'cartage.activity_questions'::regclass and mode = $1 and not granted`,
        [mode],
      )
      assert.equal(rowCount, 1, mode)
    })
  // The question waits for the first lock, the second lock for the question: so it is there before the process can
  // read.
  await first!.query('begin; lock table cartage.activity_questions in share mode')
  const stop = ask().catch((error: unknown) => error)
  await waiting('RowExclusiveLock')
  const locked = second!.query('begin; lock table cartage.activity_questions in access exclusive mode')
  await waiting('AccessExclusiveLock')
  await first!.query('commit')
  await locked
  await waiting('AccessShareLock')
  return { stop, letRead: () => second!.query('commit') }
}

async function connectControl(t: TestContext, { keys, service }: Setup): Promise<pg.Client> {
  const { namespace } = service.services.config
  const client = new pg.Client({ connectionString: withDatabase(keys.adminUrl, namespace) })
  await client.connect()
  t.after(() => client.end())
  return client
}

async function house(t: TestContext) {
  const bundle = await setup(t, { isIsolated: true })
  const operator = createAdminClient({ baseUrl: bundle.url, token: bundle.keys.adminToken })
  t.after(() => operator.close())
  const { user } = bundle
  const shown = (isMeant: (statement: ActivityStatement) => boolean) =>
    eventually(async () => {
      const { statements } = await operator.activity({ user: user.username })
      const found = statements.find(isMeant)
      assert.ok(found, JSON.stringify(statements))
      return found
    })
  return { bundle, user, operator, shown }
}
