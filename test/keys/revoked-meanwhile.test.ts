import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newToken } from '../../src/auth/token.ts'
import { findKeyByName, lockOwner, replaceToken } from '../../src/keys/key-store.ts'
import { inTransaction } from '../../src/postgres/transaction.ts'
import { grantsOf, keysClient, send } from '../support/keys/keys-client.ts'
import { basic, eventually, type Setup, setup } from '../support/service/setup.ts'

test('a request that waits to change keys while its token is replaced changes nothing', async (t) => {
  const { context, keys } = await warmSetup(t)
  for (const act of [
    () => keys.create('another', grantsOf()),
    () => keys.regenerate('k'),
    () => keys.remove('k'),
  ]) {
    let answer: ReturnType<typeof act> | undefined
    const token = await replaceMaster(context, async (lock) => {
      await lock.user()
      answer = act()
      await untilHeldUp(context, /for no key update/)
    })
    const { status, headers } = await answer!
    assert.equal(status, 401)
    assert.match(headers.get('cartage-hint') ?? '', /^The key was valid when the request arrived/)
    const { user } = context
    const { body } = await keysClient({ ...user, masterToken: token }).list()
    assert.deepEqual((body.result as { name: string }[]).map(({ name }) => name).sort(), [
      'Default public',
      'Master',
      'k',
    ])
    await restoreMaster(context)
  }
})

test('a request that reads keys while its token is replaced does not see the new one', async (t) => {
  const { context, keys } = await warmSetup(t)
  for (const read of [() => keys.list(), () => keys.list('?page=9'), () => keys.read('Master')]) {
    let answer: ReturnType<typeof read> | undefined
    const token = await replaceMaster(context, async (lock) => {
      await lock.keys()
      answer = read()
      await untilHeldUp(context, /api_keys/)
    })
    const { status, body } = await answer!
    assert.equal(status, 401)
    assert.ok(!JSON.stringify(body).includes(token))
    await restoreMaster(context)
  }
})

test('a request that changes a key while its token is replaced does not see the new one', async (t) => {
  const { context } = await warmSetup(t)
  const { user } = context
  let answer: ReturnType<typeof send> | undefined
  const token = await replaceMaster(context, async (lock) => {
    await lock.changes()
    answer = send(`${user.base}/api/v4/keys/Master`, {
      method: 'PATCH',
      headers: basic(user.username, user.masterToken),
      body: { description: 'mine' },
    })
    await untilHeldUp(context, /account_changes/)
  })
  const { status, body } = await answer!
  assert.equal(status, 401)
  assert.ok(!JSON.stringify(body).includes(token))
})

test('a request that waits for a connection while its token is replaced or its key deleted does not run', async (t) => {
  const config = { connectionsPerRole: 1, connectionWaitMs: 30_000, copiesPerUser: 1, copyWaitMs: 30_000 }
  const { user, service, admin } = await setup(t, { config })
  const { databases, copies } = service.services
  const keys = keysClient(user)
  await user.sql('create table marks (n int)')
  const call = (path: string, token: string, q: string, init?: RequestInit) =>
    fetch(`${user.base}/api/v2/sql${path}?${new URLSearchParams({ q, api_key: token })}`, init)
  const ways = [
    {
      hold: (token: string) => call('', token, 'select pg_sleep(60)'),
      wait: (token: string) => call('', token, 'insert into marks values (1)'),
      waiting: () => databases.query.stats().waiting,
    },
    {
      hold: (token: string) => call('/copyto', token, 'copy (select pg_sleep(60)) to stdout'),
      wait: (token: string) =>
        call('/copyfrom', token, 'copy marks from stdin', { method: 'POST', body: '1\n' }),
      waiting: () => copies.slots.waiting,
    },
  ]
  for (const { hold, wait, waiting } of ways) {
    for (const end of [keys.regenerate, keys.remove]) {
      const { token } = await keys.make('k', grantsOf({ marks: ['insert'] }))
      const held = hold(token)
      await eventually(async () => {
        const { rowCount } = await admin(
          `select from pg_stat_activity where datname = $1 and state = 'active' and query ~ 'pg_sleep'`,
          [user.account.database],
        )
        assert.equal(rowCount, 1)
      })
      const waited = wait(token)
      await eventually(() => assert.equal(waiting(), 1))
      assert.equal((await end('k')).status, 200)
      const answer = await waited
      assert.equal(answer.status, 401)
      assert.match(
        ((await answer.json()) as { hint: string }).hint,
        /^The key was valid when the request arrived/,
      )
      await held.then((response) => response.arrayBuffer()).catch(() => undefined)
      await keys.remove('k')
    }
  }
  assert.equal((await user.sql('select from marks')).rowCount, 0)
})

/** Replaces the master token in a transaction that `meanwhile` may keep open. No process is notified. */
async function replaceMaster({ service, user }: Setup, meanwhile: (lock: Lock) => Promise<void>) {
  const { databases, secrets } = service.services
  const token = newToken()
  await inTransaction(databases.control, async (tx) => {
    const { userId } = user.account
    await meanwhile({
      user: () => lockOwner(tx, userId),
      keys: () => tx.query('lock table cartage.api_keys in access exclusive mode'),
      changes: () => tx.query('alter sequence cartage.account_changes no cycle'),
    })
    const master = await findKeyByName(tx, secrets, userId, 'Master')
    await replaceToken(tx, secrets, master!.id, token)
  })
  return token
}

/** `changes`: a committed change waits for its number. */
type Lock = Readonly<Record<'user' | 'keys' | 'changes', () => Promise<unknown>>>

/** A service that has the user in its cache. */
async function warmSetup(t: TestContext) {
  const context = await setup(t, { isIsolated: true })
  const keys = keysClient(context.user)
  await keys.make('k')
  return { context, keys }
}

/** Waits until a request waits for a lock of the control database. */
async function untilHeldUp({ admin, service }: Setup, part: RegExp): Promise<void> {
  await eventually(async () => {
    const { rows } = await admin(
      `select query from pg_stat_activity where wait_event_type = 'Lock' and datname = $1`,
      [service.services.config.namespace],
    )
    assert.ok(rows.some(({ query }) => part.test(query)))
  })
}

/** The next round begins with the token that the client has. */
async function restoreMaster({ service, user }: Setup): Promise<void> {
  const { databases, secrets } = service.services
  const { userId } = user.account
  const master = await findKeyByName(databases.control, secrets, userId, 'Master')
  await inTransaction(databases.control, (tx) => replaceToken(tx, secrets, master!.id, user.masterToken))
  assert.equal((await keysClient(user).list()).status, 200)
}

test('a request that waits for a job while the token is replaced does not see the job', async (t) => {
  const { user, service } = await setup(t)
  const jobs = `${user.base}/api/v2/sql/job`
  const made = await fetch(`${jobs}?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'select 1' }),
  })
  const { job_id: id } = (await made.json()) as { job_id: string }
  // No worker runs here, so the wait ends at its time limit.
  const waiting = fetch(`${jobs}/${id}?wait=6&api_key=${user.masterToken}`)
  await eventually(async () => {
    const { rows } = await service.services.databases.control.query(
      'select is_watched from cartage.jobs where id = $1',
      [id],
    )
    assert.equal(rows[0].is_watched, true)
  })
  assert.equal((await keysClient(user).regenerate('Master')).status, 200)
  const answer = await waiting
  assert.equal(answer.status, 401, await answer.text())
})
