import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { grantsOf, keysClient } from '../../support/keys/keys-client.ts'
import { sleepingBackend, whileStopped } from '../../support/postgres/stopped-backend.ts'
import { eventually, type Setup, setup, type TestUser } from '../../support/service/setup.ts'

const early = 'create table early as select 1 as a; set constraints all immediate'
/** The subtransaction that took the lock has ended, the outer one has not. */
const nested = `begin; create table early as select 1 as a;
  savepoint s; set constraints all immediate; release savepoint s`

for (const [how, taken] of Object.entries({ 'at once': early, 'within a savepoint': nested })) {
  test(`a key that takes the quota lock ${how} and sleeps blocks no other writer`, async (t) => {
    const house = await setup(t)
    const { user, key } = await limitedUser(house)
    const held = hold(t, house, user, `${taken}; select pg_sleep(20); commit`, key, 'pg_sleep')
    await held.begun
    await writeInTime(user)
    assert.notEqual(await held.status, 200)
    assert.deepEqual((await user.sql(`select to_regclass('early') as made`)).rows, [{ made: null }])
  })
}

test('nor does one whose statement ignores signals; it does not commit what was not counted', async (t) => {
  const house = await setup(t)
  const { user, key } = await limitedUser(house)
  const held = hold(t, house, user, `${early}; select pg_sleep(20)`, key, 'pg_sleep')
  await held.begun
  await whileStopped(await sleepingBackend(house, user), async () => {
    await writeInTime(user)
    await held.status
  })
  const { database } = user.account
  await eventually(async () => {
    const { rowCount } = await house.admin(
      `select from pg_stat_activity where datname = $1 and query ~ 'pg_sleep' and pid <> pg_backend_pid()`,
      [database],
    )
    assert.equal(rowCount, 0)
  }, 60_000)
  assert.deepEqual((await user.sql(`select to_regclass('early') as made`)).rows, [{ made: null }])
})

async function limitedUser({ createUser }: Setup) {
  const user = await createUser({ quotaBytes: 1_000_000_000 })
  const { token } = await keysClient(user).make('k', grantsOf({}, ['public']))
  return { user, key: token }
}

function hold(t: TestContext, { admin }: Setup, user: TestUser, q: string, token: string, word: string) {
  const leave = new AbortController()
  t.after(() => leave.abort())
  const status = ask(user, q, token, leave.signal).then((answer) => answer.status)
  const begun = eventually(async () => {
    const { rowCount } = await admin(
      `select from pg_stat_activity activity join pg_locks using (pid)
       where datname = $1 and state = 'active' and query ~ $2 and mode = 'ExclusiveLock' and relation in (select turn from cartage.commit_turns)`,
      [user.account.database, word],
      user.account.database,
    )
    assert.notEqual(rowCount, 0)
  })
  return { status, begun }
}

async function writeInTime(user: TestUser): Promise<void> {
  const startedAt = performance.now()
  const { status, text } = await ask(user, 'create table mine as select 1 as a', user.masterToken)
  const ms = Math.round(performance.now() - startedAt)
  assert.equal(status, 200, text)
  assert.ok(ms < 8_000, `took ${ms} ms`)
}

async function ask({ base }: TestUser, q: string, token: string, signal?: AbortSignal) {
  const body = new URLSearchParams({ q, api_key: token })
  const response = await fetch(`${base}/api/v2/sql`, { method: 'POST', body, signal: signal ?? null })
  return { status: response.status, text: await response.text() }
}
