import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { CartageError } from '../../src/client/cartage-error.ts'
import { createAdminClient } from '../../src/client/client.ts'
import type { ActivityStatement } from '../../src/contract/documents.ts'
import { ask } from '../support/http/ask.ts'
import { openSession } from '../support/http/session-socket.ts'
import { withDatabase } from '../support/runner/namespace.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

test('a stop that a process reads late does not end a session that went on', async (t) => {
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

test('a statement that ended by itself before a process read the stop is not told as stopped', async (t) => {
  const { user, operator, shown, bundle } = await house(t)
  await user.sql('create table places (n int)')
  const session = await openSession(t, user)
  await session.run('begin; lock table places')
  const answer = ask(user, 'select n from places')
  await shown(({ kind }) => kind === 'query')
  const startedAt = performance.now()
  const { stop, letRead } = await readLate(t, bundle, () => operator.users.stopActivity(user.username))
  await session.run('commit')
  assert.equal((await answer).status, 200)
  await letRead()
  assert.deepEqual(await stop, { stopped: [], silent_processes: 0 })
  assert.ok(performance.now() - startedAt < 4_000)
  assert.deepEqual(await operator.audit({ account: user.username, action: 'activity.stopped' }), [])
})

/** Asks for a stop, and keeps the process that has heard of it from reading what is asked. */
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
  // The question waits for the first lock, the second lock for the question: it is there before the process can read.
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
