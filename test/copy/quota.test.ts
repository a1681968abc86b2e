import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Account } from '../../src/auth/account.ts'
import { QuotaLedger } from '../../src/copy/quota-ledger.ts'
import { assertAtRest, copyfrom, countRows, createTable, csvLines } from '../support/postgres/copying.ts'
import { eventually, setup } from '../support/service/setup.ts'

const intoT = 'COPY t FROM STDIN (FORMAT csv)'
const exceeded = { error: ['DB Quota exceeded'], code: 'quota-exceeded' }
const megabyte = 1024 ** 2

test('an upload beyond the quota is refused, and nothing is stored', async (t) => {
  const at = await setup(t)
  const user = await at.createUser({ quotaBytes: 4 * megabyte })
  await createTable(user)
  const small = csvLines(40_000)
  const large = csvLines(250_000)
  assert.ok(large.length > 4 * megabyte)
  for (const [body, headers] of [
    [Buffer.from(large), {}],
    [gzipSync(large), { 'content-encoding': 'gzip' }],
  ] as const) {
    const reply = await copyfrom(user, intoT, body, headers)
    assert.deepEqual([reply.status, reply.body], [400, exceeded])
    assert.equal(await countRows(user), 0)
  }
  await assertAtRest(at, user)
  assert.equal((await copyfrom(user, intoT, small)).status, 200)
})

test('after a refused load the next one is accepted at once, also into a prepared table', async (t) => {
  const at = await setup(t)
  const user = await at.createUser({ quotaBytes: 8 * megabyte })
  await user.sql(`create table "Places of t" (name text); select CDB_CartodbfyTable('"Places of t"')`)
  const into = 'COPY "Places of t" (the_geom, name) FROM STDIN (FORMAT csv)'
  const rows = (count: number) =>
    Array.from({ length: count }, (_, n) => `SRID=4326;POINT(${n % 180} 1),a\n`).join('')
  for (let round = 0; round < 3; round += 1) {
    const refused = await copyfrom(user, into, rows(300_000))
    assert.deepEqual([refused.status, refused.body.error], [400, exceeded.error])
    const small = await copyfrom(user, into, rows(1000))
    assert.equal(small.status, 200, JSON.stringify(small.body))
  }
})

test('data already stored counts towards the quota', async (t) => {
  const at = await setup(t)
  const user = await at.createUser({ quotaBytes: 4 * megabyte })
  await createTable(user)
  const body = csvLines(40_000)
  let uploads = 0
  let reply = await copyfrom(user, intoT, body)
  while (reply.status === 200) {
    uploads += 1
    assert.ok(uploads < 5)
    reply = await copyfrom(user, intoT, body)
  }
  assert.deepEqual(reply.body, exceeded)
  assert.ok(uploads >= 1)
  assert.equal(await countRows(user), uploads * 40_000)
})

test('parallel uploads of a user share the rest of the quota', async (t) => {
  const at = await setup(t)
  const user = await at.createUser({ quotaBytes: 4 * megabyte })
  await createTable(user)
  const body = Buffer.from(csvLines(120_000))
  assert.ok(body.length > 2 * megabyte && body.length < 4 * megabyte)
  const replies = await Promise.all([
    copyfrom(user, intoT, body),
    copyfrom(user, intoT, body),
    copyfrom(user, intoT, body),
  ])
  const stored = replies.filter(({ status }) => status === 200).length
  assert.ok(stored <= 1)
  for (const { status, body } of replies) if (status !== 200) assert.deepEqual(body, exceeded)
  assert.equal(await countRows(user), stored * 120_000)
})

test('a prepared table gives the same error when its own trigger finds the quota exceeded', async (t) => {
  const at = await setup(t)
  const user = await at.createUser({ quotaBytes: 2 * megabyte })
  await user.sql('create table t (id int, name text)')
  await user.sql(`select CDB_CartodbfyTable('t')`)
  // Small rows take far more space on disk than in the upload.
  const reply = await copyfrom(user, 'COPY t (id) FROM STDIN', '1\n'.repeat(60_000))
  assert.deepEqual([reply.status, reply.body], [400, exceeded])
  assert.equal(await countRows(user), 0)
})

test('a failed upload gives back the space it took, a stored one does not', async () => {
  const ledger = new QuotaLedger()
  const account = { userId: 1, quotaBytes: 100 } as Account
  const empty = async () => 0
  const first = await ledger.join(account, empty)
  const second = await ledger.join(account, empty)
  first.spend(60)
  assert.throws(() => second.spend(50), { code: 'quota-exceeded' })
  second.close(false)
  const third = await ledger.join(account, empty)
  third.spend(40)
  third.close(true)
  await assert.rejects(
    ledger.join(account, async () => 40),
    { code: 'quota-exceeded' },
  )
  first.close(false)
  const fresh = await ledger.join(account, async () => 40)
  fresh.spend(60)
  assert.throws(() => fresh.spend(1), { code: 'quota-exceeded' })
})

test('a lowered quota applies at once, also to uploads that have begun', async (t) => {
  const at = await setup(t)
  const user = await at.createUser({ quotaBytes: 100 * megabyte })
  await createTable(user)
  const body = Buffer.from(csvLines(120_000))
  const early = new PassThrough()
  const begun = copyfrom(user, intoT, early)
  early.write(body)
  await eventually(async () => {
    const { rowCount } = await at.admin(`select from pg_stat_progress_copy where datname = $1`, [
      user.account.database,
    ])
    assert.equal(rowCount, 1)
  })
  const patched = await fetch(`${at.url}/admin/v1/users/${user.username}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${at.keys.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ quota_in_bytes: megabyte }),
  })
  assert.equal(patched.status, 200)
  const late = await copyfrom(user, intoT, body)
  assert.deepEqual([late.status, late.body], [400, exceeded])
  early.end(body)
  const reply = await begun
  assert.deepEqual([reply.status, reply.body], [400, exceeded])
  assert.equal(await countRows(user), 0)
})

test('without a quota nothing is measured', async () => {
  const share = await new QuotaLedger().join({ userId: 1, quotaBytes: 0 } as Account, () => assert.fail())
  share.spend(Number.MAX_SAFE_INTEGER)
  share.close(true)
})
