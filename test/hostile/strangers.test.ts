import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'

test('keys that write can create temporary tables; keys that only read and callers without a key cannot', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (a int)')
  const q = 'create temp table mine as select 1 as a; select a from mine'
  const make = async (name: string, grants: unknown) => (await keysClient(user).make(name, grants)).token
  for (const key of ['', await make('none', grantsOf()), await make('reads', grantsOf({ t: ['select'] }))])
    assert.equal((await ask(user, q, key)).status, 403)
  for (const key of [
    await make('writes', grantsOf({ t: ['insert'] })),
    await make('makes', grantsOf({}, ['public'])),
    user.masterToken,
  ])
    assert.equal((await ask(user, q, key)).status, 200)
})

test('a caller without a key neither sees nor ends statements of others', async (t) => {
  const { user, admin } = await setup(t)
  const leave = new AbortController()
  t.after(() => leave.abort())
  const other = ask(user, `select 'private' as word, pg_sleep(8)`)
  const pid = await eventually(async () => {
    const { rows } = await admin(
      `select pid from pg_stat_activity where usename = $1 and query ~ 'private' and state = 'active'`,
      [user.account.publicRole],
    )
    assert.equal(rows.length, 1)
    return rows[0].pid as number
  })
  const { token } = await keysClient(user).make('one')
  for (const key of [undefined, token]) {
    for (const q of [
      'select query from pg_stat_activity',
      'select pg_stat_get_activity(null)',
      'select pg_stat_get_backend_activity(id) from generate_series(1, 100) id',
      'select pg_stat_get_backend_activity(id) from pg_stat_get_backend_idset() id',
      `select pg_cancel_backend(${pid})`,
      `select pg_terminate_backend(${pid})`,
      `select pg_terminate_backend(pid) from pg_locks`,
    ]) {
      const answer = await ask(user, q, key)
      assert.deepEqual([answer.status, answer.text.includes('private')], [403, false], q)
    }
  }
  assert.equal((await other).status, 200)
})

test('master sees and ends the sessions of its own role', async (t) => {
  const { user } = await setup(t)
  const own = await ask(
    user,
    'select pid from pg_stat_activity where pid = pg_backend_pid()',
    user.masterToken,
  )
  assert.equal(own.status, 200)
  const ended = await ask(user, 'select pg_terminate_backend(pg_backend_pid())', user.masterToken)
  assert.equal(ended.status, 503)
})

async function ask(user: TestUser, q: string, key?: string) {
  const body = new URLSearchParams({ q, ...(key && { api_key: key }) })
  const response = await fetch(`${user.base}/api/v2/sql`, { method: 'POST', body })
  return { status: response.status, text: await response.text() }
}
