import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { type Asked, askQueries, saved } from '../support/queries/queries-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

/** The ETag of an answer, if it has one. */
async function tagOf(user: TestUser, path: string, asked?: Asked): Promise<string | null> {
  const answer = await askQueries(user, path, asked)
  assert.equal(answer.status, 200, await answer.text())
  return answer.headers.get('etag')
}

async function statusWith(user: TestUser, path: string, tag: string, asked?: Asked): Promise<number> {
  const answer = await askQueries(user, path, { ...asked, headers: { 'if-none-match': tag } })
  const text = await answer.text()
  if (answer.status === 304) assert.equal(text, '')
  return answer.status
}

test('an answer has an ETag that changes with the rows, the values, the format, the key and the query', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    "create table counted (n int); insert into counted values (1); select CDB_CartodbfyTable('counted')",
  )
  const definition = {
    sql: 'select * from counted where n >= :least',
    params: { least: { type: 'integer', default: 0 } },
  }
  await saved(user, 'counted', definition)
  const tag = (await tagOf(user, '/counted/rows'))!
  assert.match(tag, /^W\/"/)
  assert.equal(await statusWith(user, '/counted/rows', tag), 304)
  for (const path of [
    '/counted/rows?least=1',
    '/counted/rows?format=csv',
    '/counted/rows?rows_per_page=1',
    '/counted/rows?skipfields=n',
  ])
    assert.equal(await statusWith(user, path, tag), 200, path)
  const reader = await keysClient(user).make('reader', grantsOf({ counted: ['select'] }))
  assert.equal(await statusWith(user, '/counted/rows', tag, { token: reader.token }), 200)
  await user.sql('insert into counted (n) values (2)')
  assert.equal(await statusWith(user, '/counted/rows', tag), 200)
  const next = (await tagOf(user, '/counted/rows'))!
  assert.equal(await statusWith(user, '/counted/rows', next), 304)
  await saved(user, 'counted', { ...definition, description: 'changed' })
  assert.equal(await statusWith(user, '/counted/rows', next), 200)
})

test('a key that may no longer read is refused, whatever ETag it sends', async (t) => {
  const { user } = await setup(t)
  await user.sql("create table counted (n int); select CDB_CartodbfyTable('counted')")
  await saved(user, 'counted', { sql: 'select * from counted' })
  const reader = await keysClient(user).make('reader', grantsOf({ counted: ['select'] }))
  const tag = (await tagOf(user, '/counted/rows', { token: reader.token }))!
  assert.equal(await statusWith(user, '/counted/rows', tag, { token: reader.token }), 304)
  const { rows } = await user.sql(
    `select grantee::regrole::text as role from pg_class, aclexplode(relacl) where oid = 'counted'::regclass and grantee <> relowner`,
  )
  await user.sql(`revoke select on counted from ${rows[0].role}`)
  assert.equal(await statusWith(user, '/counted/rows', tag, { token: reader.token }), 403)
})

test('rows that may differ each time have no ETag: times, random values, and dates relative to now', async (t) => {
  const { user } = await setup(t)
  await user.sql("create table days (day date); select CDB_CartodbfyTable('days')")
  for (const sql of [
    'select now()',
    'select random()',
    "select day from days where day < 'today'",
    'select current_date',
    'select pg_sleep(0)',
  ]) {
    await saved(user, 'moving', { sql })
    assert.equal(await tagOf(user, '/moving/rows'), null, sql)
  }
  await saved(user, 'moving', { sql: 'select * from days where day < :d', params: { d: { type: 'date' } } })
  assert.notEqual(await tagOf(user, '/moving/rows?d=2026-01-01'), null)
  assert.equal(await tagOf(user, '/moving/rows?d=Today'), null)
  await saved(user, 'moving', { sql: 'select * from days where day < (:d)::date' })
  assert.equal(await tagOf(user, '/moving/rows?d=2026-01-01'), null)
})

test('an error and an answer to POST have no ETag', async (t) => {
  const { user } = await setup(t)
  await user.sql(
    "create table counted (n int); insert into counted values (0); select CDB_CartodbfyTable('counted')",
  )
  await saved(user, 'failing', {
    sql: 'select 1 / n as x from counted where :go',
    params: { go: { type: 'boolean' } },
  })
  const failed = await askQueries(user, '/failing/rows?go=true')
  assert.deepEqual([failed.status, failed.headers.get('etag')], [400, null])
  const posted = await askQueries(user, '/failing/rows', { body: { go: false } })
  assert.deepEqual([posted.status, posted.headers.get('etag')], [200, null])
})
