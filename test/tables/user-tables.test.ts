import assert from 'node:assert/strict'
import { test } from 'node:test'
import { column, makeKey, rows, value } from '../support/postgres/tenant-session.ts'
import { setup } from '../support/service/setup.ts'

test('CDB_UserTables lists the tables that the caller can read: all, public or private', async (t) => {
  const context = await setup(t)
  const { user } = context
  const { publicRole } = user.account
  await user.sql(`create table hidden (id int); create table shown (id int); create table "Mine.x" (id int);
    create table parts (id int) partition by list (id); create table part partition of parts default;
    create view seen as select 1; create temporary table gone (id int); grant select on shown to "${publicRole}"`)
  const key = await makeKey(context, user, [], { hidden: ['select'], parts: ['insert'] })
  assert.deepEqual(await column(user, 'select CDB_UserTables()'), ['Mine.x', 'hidden', 'parts', 'shown'])
  assert.deepEqual(await column(user, `select CDB_UserTables('all')`), ['Mine.x', 'hidden', 'parts', 'shown'])
  assert.deepEqual(await column(user, `select CDB_UserTables('public')`), ['shown'])
  assert.deepEqual(await column(user, `select CDB_UserTables('private')`), ['Mine.x', 'hidden', 'parts'])
  assert.deepEqual(await column(user, `select CDB_UserTables('none')`), [])
  assert.deepEqual(await column(user, 'select CDB_UserTables()', key), ['hidden', 'shown'])
  assert.deepEqual(await column(user, 'select CDB_UserTables()', publicRole), ['shown'])
  assert.deepEqual(await column(user, `select CDB_UserTables('private')`, publicRole), [])
})

test('a table is private until SELECT is granted to the public role, and again after a revoke', async (t) => {
  const { user } = await setup(t)
  const { publicRole } = user.account
  await user.sql(`create table t (id int); select CDB_CartodbfyTable('t')`)
  assert.deepEqual(await column(user, `select CDB_UserTables('public')`), [])
  await user.sql(`grant select on t to "${publicRole}"`)
  assert.deepEqual(await column(user, `select CDB_UserTables('public')`), ['t'])
  assert.equal(await value(user, 'select count(*)::int from t', publicRole), 0)
  await user.sql(`revoke select on t from "${publicRole}"`)
  assert.deepEqual(await column(user, `select CDB_UserTables('private')`), ['t'])
  await assert.rejects(value(user, 'select count(*)::int from t', publicRole), { code: '42501' })
})

test("CDB_UserTables lists a member's own tables, not those of other members", async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await owner.sql(`create table t (id int); grant usage on schema "${owner.username}" to "${member.account.masterRole}";
    grant select on t to "${member.account.masterRole}"`)
  await member.sql('create table mine (id int)')
  assert.deepEqual(await column(owner, 'select CDB_UserTables()'), ['t'])
  assert.deepEqual(await column(member, 'select CDB_UserTables()'), ['mine'])
})

test('CDB_ColumnNames and CDB_ColumnType list the columns of a table in order', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table "T.t" (id int, dropped int, "Na""me" varchar(20), the_geom geometry(Point, 4326),
    tags text[], shapes geometry[]); alter table "T.t" drop column dropped`)
  assert.deepEqual(
    await rows(user, `select name, CDB_ColumnType('"T.t"', name) as type from CDB_ColumnNames('"T.t"') name`),
    [
      { name: 'id', type: 'integer' },
      { name: 'Na"me', type: 'character varying' },
      { name: 'the_geom', type: 'geometry' },
      { name: 'tags', type: 'text[]' },
      { name: 'shapes', type: 'geometry[]' },
    ],
  )
  assert.equal(await value(user, `select CDB_ColumnType('"T.t"', 'dropped')`), null)
  assert.equal(await value(user, `select CDB_ColumnType('"T.t"', 'ctid')`), null)
})
