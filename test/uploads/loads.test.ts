import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { userByName } from '../../src/auth/account-store.ts'
import { createClient } from '../../src/client/client.ts'
import type { CopyAnswer } from '../../src/contract/documents.ts'
import { firstHostId } from '../../src/postgres/hosts.ts'
import { setupImports } from '../support/imports/import-api.ts'
import { codeOf, uploadApi } from '../support/imports/upload-api.ts'
import { admin, newUser, startWithTwoHosts } from '../support/postgres/two-hosts.ts'
import { eventually } from '../support/service/setup.ts'

const copy = { kind: 'copyfrom', q: 'copy t from stdin with (format csv)' } as const

const slowTable = `create table t (a int);
  create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
  create trigger wait before insert on t for each row execute function wait()`

test('DELETE of an upload while its rows are loaded stops the load, and nothing is stored', async (t) => {
  const { user, left, admin } = await setupImports(t)
  await user.sql(slowTable)
  const api = uploadApi(user)
  const at = await api.make(4, copy)
  const loading = api.patch(at, 0, '1\n2\n')
  await eventually(async () => assert.equal((await api.show(at)).state, 'loading'))
  assert.equal((await api.head(at)).headers.get('upload-state'), 'loading')
  const before = performance.now()
  assert.equal((await api.remove(at)).status, 204)
  assert.ok(performance.now() - before < 5_000)
  assert.deepEqual(await codeOf(await loading), [409, 'statement-cancelled'])
  assert.equal((await api.head(at)).status, 404)
  assert.deepEqual((await user.sql('select from t')).rows, [])
  assert.ok(!left().some((name) => name.includes(at.split('/').at(-1)!)))
  const { rows } = await admin(
    `select from pg_stat_activity where datname = $1 and query like 'copy t%' and state <> 'idle'`,
    [user.account.database],
  )
  assert.deepEqual(rows, [])
})

test('an upload shows why its load was refused, until it is stored', async (t) => {
  const { user } = await setupImports(t)
  await user.sql('create table t (a int primary key); insert into t values (1)')
  const api = uploadApi(user)
  const at = await api.make(4, copy)
  assert.equal((await api.show(at)).state, 'open')
  const refused = await api.patch(at, 0, '1\n2\n')
  const { error, code, sqlstate } = (await refused.json()) as Record<string, unknown>
  const shown = await api.show(at)
  assert.deepEqual([shown.state, shown.offset, shown.length, shown.answer], ['refused', 3, 4, undefined])
  assert.deepEqual(
    [shown.refusal!.status, shown.refusal!.error, shown.refusal!.code, shown.refusal!.sqlstate],
    [400, error, code, sqlstate],
  )
  const head = await api.head(at)
  assert.deepEqual(
    ['upload-state', 'upload-error', 'upload-offset'].map((name) => head.headers.get(name)),
    ['refused', 'database', '3'],
  )
  await user.sql('delete from t')
  const answer = await (await api.patch(at, 3, '\n')).json()
  const done = await api.show(at)
  assert.deepEqual([done.state, done.offset, done.answer, done.refusal], ['done', 4, answer, undefined])
})

test('the rejected rows kept for finished uploads are limited: older ones are dropped, their number stays', async (t) => {
  const { user, service } = await setupImports(t)
  await user.sql('create table t (a int)')
  const api = uploadApi(user)
  // Random text, which PostgreSQL cannot compress. JSON text may hold a NUL that jsonb refuses.
  const long = () => randomBytes(750_000).toString('base64')
  const content = () => `1\n${Array.from({ length: 10 }, () => `\u0000${long()}`).join('\n')}\n`
  const made: { at: string; answer: CopyAnswer }[] = []
  for (let times = 0; times < 4; times++) {
    const file = content()
    const at = await api.make(file.length, { ...copy, on_error: 'skip', rejects: 'all' })
    made.push({ at, answer: (await (await api.patch(at, 0, file)).json()) as CopyAnswer })
  }
  const kept = await Promise.all(made.map(async ({ at }) => (await api.show(at)).answer!))
  assert.deepEqual(
    kept.map(({ rejected_rows: count, rejected }) => [count, rejected?.length]),
    [
      [10, 0],
      [10, 10],
      [10, 10],
      [10, 10],
    ],
  )
  const { rejected: _list, ...rest } = made[0]!.answer
  assert.deepEqual(kept[0], { ...rest, rejected: [] })
  assert.deepEqual(kept[1], made[1]!.answer)
  const { rows } = await service.services.databases.control.query<{ bytes: string }>(
    'select sum(pg_column_size(answer)) as bytes from cartage.uploads where user_id = $1',
    [user.account.userId],
  )
  assert.ok(Number(rows[0]!.bytes) <= 32 * 1024 ** 2 + 4 * 1024, rows[0]!.bytes)
})

test('every attempt to load an upload counts towards the rate limit of copyfrom', async (t) => {
  const { user } = await setupImports(t, { rateLimitCopyfrom: { count: 2, seconds: 3600, burst: 2 } })
  await user.sql('create table t (a int primary key); insert into t values (1)')
  const api = uploadApi(user)
  const at = await api.make(2, copy)
  assert.deepEqual(await codeOf(await api.patch(at, 0, '1\n')), [400, 'database'])
  assert.deepEqual(await codeOf(await api.patch(at, 1, '\n')), [400, 'database'])
  const over = await api.patch(at, 1, '\n')
  assert.ok(Number(over.headers.get('retry-after')) > 0)
  assert.deepEqual(await codeOf(over), [429, 'rate-limited'])
  const direct = await fetch(`${user.base}/api/v2/sql/copyfrom?api_key=${user.masterToken}&q=${copy.q}`, {
    method: 'POST',
    body: '5\n',
  })
  assert.equal(direct.status, 429)
  assert.equal(await api.offsetOf(at), 1)
})

test('on another host a refused load can be retried, and a running one stopped', async (t) => {
  const { service } = await startWithTwoHosts(t)
  await newUser(service, 'first')
  const { api_key: token } = await admin(service).users.create({ username: 'second' })
  const { databases } = service.services
  const { hostId } = (await userByName(databases.control, 'second'))!
  assert.notEqual(hostId, firstHostId)
  const client = createClient({ baseUrl: service.url, username: 'second', token: token! })
  const api = uploadApi({ username: 'second', masterToken: token!, base: `${service.url}/user/second` })
  await client.sql('create table t (a int primary key); insert into t values (1)')
  const at = await api.make(2, copy)
  assert.deepEqual(await codeOf(await api.patch(at, 0, '1\n')), [400, 'database'])
  assert.deepEqual(await codeOf(await api.patch(at, 1, '\n')), [400, 'database'])
  await client.sql('delete from t')
  assert.equal((await api.patch(at, 1, '\n')).status, 200)
  await client.sql(slowTable.replace('create table t (a int)', 'delete from t'))
  const slow = await api.make(2, copy)
  const loading = api.patch(slow, 0, '2\n')
  await eventually(async () => assert.equal((await api.show(slow)).state, 'loading'))
  assert.equal((await api.remove(slow)).status, 204)
  assert.deepEqual(await codeOf(await loading), [409, 'statement-cancelled'])
  assert.deepEqual((await client.sql('select a from t')).rows, [])
})
