import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { from as copyFrom } from 'pg-copy-streams'
import { describe, makeKey, openSession, refusal, value } from '../support/postgres/tenant-session.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

const kilobyte = 1024
const exceeded = /^QUOTA: Quota exceeded by \d+KB$/

const size = async (user: TestUser) => Number(await value(user, 'select CDB_UserDataSize()'))

const setQuota = ({ admin }: Setup, { account }: TestUser, bytes: number) =>
  admin('select cartodb.CDB_SetUserQuotaInBytes($1, $2)', [account.schema, bytes], account.database)

const fill = (kilobytes: number, table = 't') =>
  `insert into ${table} (name) select repeat(md5(n::text), 32) from generate_series(1, ${kilobytes}) n`

async function prepared(user: TestUser): Promise<void> {
  await user.sql(
    `create table t (name text); alter table t alter name set storage plain; select CDB_CartodbfyTable('t')`,
  )
}

test('CDB_UserDataSize is the sum of pg_total_relation_size of all that the user owns', async (t) => {
  const context = await setup(t)
  const { user } = context
  assert.equal(await size(user), 0)
  const key = await makeKey(context, user, ['public'])
  await user.sql(`create schema elsewhere; create table elsewhere.t as select n, repeat(md5(n::text), 200) as long
    from generate_series(1, 500) n; create index on elsewhere.t (n); create table empty (id serial primary key, t text);
    create materialized view m as select * from elsewhere.t; create table parts (n int) partition by list (n);
    create table part partition of parts default; insert into parts select generate_series(1, 1000)`)
  await user.sql('vacuum elsewhere.t')
  await user.sql(`create table made as select generate_series(1, 1000) as n`, undefined, key)
  const sum = await value(
    user,
    `select sum(pg_total_relation_size(oid))::int from pg_class
     where oid::regclass::text in ('elsewhere.t', 'empty', 'm', 'part', 'made')`,
  )
  assert.equal(await size(user), sum)
  assert.equal(Number(await value(user, `select CDB_UserDataSize('public')`)), sum)
  await user.sql('create temporary table scratch as select generate_series(1, 10000) as n')
  assert.equal(await size(user), sum)
})

test('CDB_UserDataSize does not wait for a table that is being altered', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql('create table t as select generate_series(1, 1000) as n')
  const session = await openSession(t, context, user)
  const before = await size(user)
  await session.query('begin; lock table t in access exclusive mode')
  assert.equal(Number(await value(user, `set lock_timeout = '2s'; select CDB_UserDataSize()`)), before)
})

test("a member's size is that of the member's schema, and no one else can query it", async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name, quotaBytes: 7 })
  await owner.sql('create table t as select generate_series(1, 10000) as n')
  assert.equal(await size(owner), await value(owner, `select pg_total_relation_size('t')::int`))
  assert.equal(await size(member), 0)
  assert.equal(await value(member, `select _CDB_UserQuotaInBytes()::int`), 7)
  assert.equal(await value(member, `select _CDB_UserQuotaInBytes('${member.username}')::int`), 7)
  for (const ask of ['CDB_UserDataSize', '_CDB_UserQuotaInBytes']) {
    assert.match((await refusal(member, `select ${ask}('${owner.username}')`)) ?? '', /^42501/)
    assert.match(
      (await refusal(member, `select ${ask}('public')`)) ?? '',
      /^3F000: Invalid schema name "public"/,
    )
  }
})

test('only the operator can set the quota', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  const { account } = user
  for (const text of ['select CDB_SetUserQuotaInBytes(1)', `select CDB_SetUserQuotaInBytes('public', 1)`]) {
    assert.match((await refusal(user, text)) ?? '', /^42501/)
    assert.match((await refusal(user, text, account.publicRole)) ?? '', /^42501/)
  }
  const { rows } = await admin(
    'select cartodb.CDB_SetUserQuotaInBytes(12345)::int as bytes',
    [],
    account.database,
  )
  assert.deepEqual(rows, [{ bytes: 12345 }])
  assert.equal(await value(user, 'select _CDB_UserQuotaInBytes()::int'), 12345)
  await assert.rejects(setQuota(context, user, -1), { code: '23514' })
})

test('a statement that ends over quota fails with "Quota exceeded by <n>KB" and is rolled back', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepared(user)
  await user.sql(fill(10))
  await setQuota(context, user, (await size(user)) + 100 * kilobyte)
  await user.sql(fill(10))
  assert.match((await refusal(user, fill(150))) ?? '', exceeded)
  assert.equal(await value(user, 'select count(*)::int from t'), 20)
  await user.sql('vacuum t')
  assert.match((await refusal(user, 'update t set name = repeat(name, 6)')) ?? '', exceeded)
  await user.sql('vacuum t')
  assert.match((await refusal(user, `begin; ${fill(150)}; commit`)) ?? '', exceeded)
})

test('the check is exact: the last byte of the quota can be used, and no byte more', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepared(user)
  await user.sql(fill(10))
  await setQuota(context, user, await size(user))
  await user.sql(`update t set name = '' where cartodb_id = 1`)
  await setQuota(context, user, (await size(user)) - 1)
  for (let n = 0; n < 10; n++) {
    assert.equal(await refusal(user, `insert into t (name) values ('')`), 'QUOTA: Quota exceeded by 1KB')
  }
})

test('a quota of 0 is no limit', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepared(user)
  await setQuota(context, user, 0)
  assert.equal(await refusal(user, fill(1000)), undefined)
})

test('a user over quota can delete, truncate and drop, and can write again after that', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepared(user)
  await user.sql(fill(100))
  await setQuota(context, user, 90 * kilobyte)
  assert.match((await refusal(user, `insert into t (name) values ('a')`)) ?? '', exceeded)
  await user.sql('delete from t where cartodb_id < 10')
  await user.sql('truncate t')
  assert.equal(await refusal(user, `insert into t (name) values ('a')`), undefined)
  await user.sql('drop table t')
})

test('the tables of all keys count together', async (t) => {
  const context = await setup(t)
  const { user } = context
  const key = await makeKey(context, user, ['public'])
  await prepared(user)
  await user.sql(`create table made (name text); select CDB_CartodbfyTable('made')`, undefined, key)
  await setQuota(context, user, (await size(user)) + 300 * kilobyte)
  await user.sql(fill(180))
  assert.match((await refusal(user, fill(180, 'made'), key)) ?? '', exceeded)
})

test('a long COPY over quota is stopped soon, not at its end', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepared(user)
  await setQuota(context, user, (await size(user)) + 500 * kilobyte)
  const session = await openSession(t, context, user)
  const endless = Readable.from(repeated(`${'x'.repeat(kilobyte)}\n`.repeat(64), 5000))
  const copied = pipeline(endless, session.query(copyFrom('copy t (name) from stdin')))
  assert.match(await copied.then(() => '', describe), exceeded)
  assert.ok((await size(user)) < 2000 * kilobyte, 'what it left behind until the next vacuum')
})

function* repeated(chunk: string, times: number) {
  for (let n = 0; n < times; n++) yield chunk
}

test('a setting forged by a tenant delays the early stop, never the check itself', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepared(user)
  await setQuota(context, user, (await size(user)) + 100 * kilobyte)
  const oid = await value(user, `select 't'::regclass::oid::text`)
  for (const forged of ['999999999999', 'nonsense', '', '-1']) {
    const text = `set "cartage.ceiling_${oid}" = '${forged}'; ${fill(1000)}`
    assert.match((await refusal(user, text)) ?? '', exceeded, forged)
    await user.sql('vacuum t')
  }
})

test('tables filled on creation are checked too: CREATE TABLE AS, SELECT INTO, materialized views, indexes', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql(
    `create table source as select repeat(md5(n::text), 10) as name from generate_series(1, 1000) n`,
  )
  await setQuota(context, user, (await size(user)) + 100 * kilobyte)
  for (const text of [
    'create table made as select * from source',
    'select * into made from source',
    'create materialized view made as select * from source',
    'create index on source (name)',
    `select CDB_CartodbfyTable('source')`,
  ]) {
    assert.match((await refusal(user, text)) ?? '', exceeded, text)
  }
  await user.sql('create materialized view empty as select * from source with no data')
  assert.match((await refusal(user, 'refresh materialized view empty')) ?? '', exceeded)
})

test('two transactions that each fill a new table cannot exceed the quota together', async (t) => {
  const context = await setup(t)
  const { user } = context
  await setQuota(context, user, 1000 * kilobyte)
  const [first, second] = [await openSession(t, context, user), await openSession(t, context, user)]
  for (const [name, session] of Object.entries({ first, second })) {
    await session.query(`begin; create table ${name} (name text); select CDB_CartodbfyTable('${name}')`)
    await session.query(fill(600, name))
  }
  const outcomes = await Promise.allSettled([first.query('commit'), second.query('commit')])
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const lost = outcomes.find((outcome) => outcome.status === 'rejected')!
  assert.match(describe(lost.reason), exceeded)
  assert.ok((await size(user)) <= 1000 * kilobyte)
})

test("rows written to another member's table count for that member", async (t) => {
  const context = await setup(t)
  const { name, owner } = await context.createOrganization()
  const member = await context.createUser({ organization: name })
  await prepared(owner)
  await owner.sql(`grant usage on schema "${owner.username}" to "${member.account.masterRole}";
    grant insert on t to "${member.account.masterRole}"; grant usage on t_cartodb_id_seq to "${member.account.masterRole}"`)
  await setQuota(context, member, 1)
  assert.equal(await refusal(member, fill(100, `"${owner.username}".t`)), undefined)
  await setQuota(context, owner, 50 * kilobyte)
  assert.match((await refusal(member, fill(1, `"${owner.username}".t`))) ?? '', exceeded)
})
