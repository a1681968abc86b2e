import assert from 'node:assert/strict'
import { test } from 'node:test'
import { column, makeKey, openSession, refusal, rows, value } from '../support/postgres/tenant-session.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const prepare = (user: TestUser, table: string) =>
  user.sql(`create table ${table} (name text); select CDB_CartodbfyTable('${table}')`)

const updatedAt = async (user: TestUser, table: string) =>
  (await value(
    user,
    `select updated_at::text from CDB_TableMetadata where tabname = '${table}'::regclass`,
  )) as string

test('CDB_TableMetadata has the last change of a prepared table: insert, update, delete, truncate and COPY', async (t) => {
  const { user } = await setup(t)
  await prepare(user, 't')
  let before = await updatedAt(user, 't')
  for (const text of [
    `insert into t (name) values ('a')`,
    `update t set name = 'b'`,
    'delete from t',
    'truncate t',
    `insert into t (name) select 'c' where false`,
  ]) {
    await user.sql(text)
    const after = await updatedAt(user, 't')
    assert.ok(after > before, text)
    before = after
  }
  await user.sql('select * from t')
  assert.equal(await updatedAt(user, 't'), before)
  assert.deepEqual(await rows(user, 'select tabname, updated_at::text from CDB_TableMetadata_Text'), [
    { tabname: 'public.t', updated_at: before },
  ])
})

test('a change that is rolled back leaves the metadata as it was', async (t) => {
  const { user } = await setup(t)
  await prepare(user, 't')
  const before = await updatedAt(user, 't')
  await user.sql(`begin; insert into t (name) values ('a'); rollback`)
  assert.equal(await updatedAt(user, 't'), before)
})

test('two transactions write to one table without waiting for each other, and the last commit counts', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepare(user, 't')
  const slow = await openSession(t, context, user)
  const quick = await openSession(t, context, user)
  await quick.query(`set lock_timeout = '5s'`)
  await slow.query(`begin; insert into t (name) values ('slow')`)
  for (let n = 0; n < 3; n++) await quick.query(`insert into t (name) values ('quick')`)
  const between = await updatedAt(user, 't')
  await slow.query('commit')
  assert.ok((await updatedAt(user, 't')) > between, 'the slow writer is seen')
  assert.equal(await value(user, `select count(*)::int from CDB_TableMetadata`), 1)
})

test('writers under REPEATABLE READ do not fail because of the metadata', async (t) => {
  const context = await setup(t)
  const { user } = context
  await prepare(user, 't')
  const writer = await openSession(t, context, user)
  await writer.query('begin isolation level repeatable read; select * from t')
  await user.sql(`insert into t (name) values ('meanwhile')`)
  const before = await updatedAt(user, 't')
  await writer.query(`insert into t (name) values ('a'); insert into t (name) values ('b'); commit`)
  assert.ok((await updatedAt(user, 't')) > before)
})

test('the rows of the metadata do not accumulate', async (t) => {
  const { user, admin } = await setup(t)
  await prepare(user, 't')
  await prepare(user, 'gone')
  await user.sql(`begin; ${`insert into t (name) values ('a');`.repeat(50)} commit`)
  for (let n = 0; n < 5; n++) await user.sql(`insert into t (name) values ('a')`)
  await user.sql('drop table gone')
  await prepare(user, 'other')
  const kept = await admin('select count(*)::int as n from cartage.table_changes', [], user.account.database)
  assert.equal(kept.rows[0]!.n, 2)
})

test('CDB_TableMetadataTouch needs the right to write to the table', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql('create table t (name text); create table other (name text)')
  const writer = await makeKey(context, user, [], { t: ['insert'] })
  await user.sql(`select CDB_TableMetadataTouch('t')`, undefined, writer)
  assert.ok(await updatedAt(user, 't'))
  assert.match((await refusal(user, `select CDB_TableMetadataTouch('other')`, writer)) ?? '', /^42501/)
  assert.match(
    (await refusal(user, `select CDB_TableMetadataTouch('t')`, user.account.publicRole)) ?? '',
    /^42501/,
  )
})

test('tenants can read the metadata of tables they can read, and can forge none', async (t) => {
  const context = await setup(t)
  const { user, createOrganization, createUser } = context
  await prepare(user, 't')
  await prepare(user, 'shown')
  const { account } = user
  await user.sql(`grant select on shown to "${account.publicRole}"`)
  const tables = `select tabname::text from CDB_TableMetadata order by 1`
  assert.deepEqual(await column(user, tables), ['shown', 't'])
  assert.deepEqual(await column(user, tables, account.publicRole), ['shown'])
  assert.deepEqual(await column(user, tables, await makeKey(context, user)), ['shown'])
  for (const text of [
    'delete from CDB_TableMetadata',
    'update CDB_TableMetadata set updated_at = now()',
    `insert into CDB_TableMetadata values ('t', now())`,
    'delete from cartage.table_changes',
    `select cartage.record_change('t'::regclass)`,
  ]) {
    assert.ok(await refusal(user, text), text)
  }

  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await prepare(owner, 'private')
  assert.deepEqual(await column(member, tables), [])
  assert.match(
    (await refusal(member, `select CDB_TableMetadataTouch('${owner.username}.private')`)) ?? '',
    /^42/,
  )
})

test('a function in a WHERE clause does not see the metadata of tables its caller cannot read', async (t) => {
  const { user, createOrganization, createUser } = await setup(t)
  await prepare(user, 't')
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await prepare(owner, 'hidden')
  await member.sql(`create function leak(oid) returns boolean language plpgsql cost 0.0000001 as
    $$begin raise exception 'seen %', $1; end$$`)
  assert.deepEqual(await rows(member, 'select * from CDB_TableMetadata where leak(tabname)'), [])
})
