import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertPrepared } from '../support/postgres/assert-prepared.ts'
import { column, makeKey, refusal, rows, value } from '../support/postgres/tenant-session.ts'
import { setup } from '../support/service/setup.ts'

test('a key with only `create` on the schema can cartodbfy its own tables', async (t) => {
  const context = await setup(t)
  const { user } = context
  const key = await makeKey(context, user, ['public'])
  await user.sql(
    `create table t (wkt text); insert into t values ('POINT(1 2)'); create view v as select wkt from t`,
    undefined,
    key,
  )
  assert.equal(await value(user, `select CDB_CartodbfyTable('t')`, key), 't')
  assert.equal(await value(user, `select CDB_CartodbfyTable('${user.username}', 't')`, key), 't')
  await assertPrepared(user, 't')
  await user.sql(`insert into t (the_geom) values (CDB_LatLng(1, 1))`, undefined, key)
  assert.equal(await value(user, 'select count(wkt)::int from v', key), 2)
})

test("the master key cartodbfies a key's table, which stays the key's with everything added", async (t) => {
  const context = await setup(t)
  const { user } = context
  const key = await makeKey(context, user, ['public'])
  await user.sql(`create table t (wkt text); insert into t values ('POINT(1 2)')`, undefined, key)
  await user.sql('create view v as select wkt from t')
  assert.deepEqual(
    await rows(
      user,
      `select CDB_CartodbfyTable('t'); select current_user = session_user as same, current_setting('role') as role`,
    ),
    [{ same: true, role: 'none' }],
  )
  await assertPrepared(user, 't')
  assert.deepEqual(
    await column(user, `select distinct relowner::regrole::text from pg_class where relname ~ '^t(_|$)'`),
    [key],
  )
  assert.equal(
    await value(user, `select relowner::regrole::text from pg_class where relname = 'v'`),
    user.account.masterRole,
  )
  await user.sql('insert into t default values', undefined, key)
})

test("the master key recreates a key's views on its table, and they stay the key's", async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql(`create table t (wkt text); insert into t values ('POINT(1 2)')`)
  const key = await makeKey(context, user, ['public'], { t: ['select'] })
  await user.sql(
    `create view v as select wkt from t; comment on view v is 'mine'; grant select on v to "${user.account.publicRole}";
     create materialized view m as select wkt from v; create index on m (wkt);
     create materialized view empty as select wkt from t with no data`,
    undefined,
    key,
  )
  assert.equal(await value(user, `select CDB_CartodbfyTable('t')`), 't')
  assert.deepEqual(
    await rows(
      user,
      `select relname, relowner::regrole::text = '${key}' as is_keys, relispopulated as is_full
       from pg_class where relname in ('v', 'm', 'empty') order by relname`,
    ),
    [
      { relname: 'empty', is_keys: true, is_full: false },
      { relname: 'm', is_keys: true, is_full: true },
      { relname: 'v', is_keys: true, is_full: true },
    ],
  )
  assert.equal(await value(user, 'select ST_AsText(wkt) from m', key), 'POINT(1 2)')
  assert.equal(await value(user, 'select count(*)::int from v', user.account.publicRole), 1)
})

test("the master key adds a sequence to a key's table, and the sequence is the key's", async (t) => {
  const context = await setup(t)
  const { user } = context
  const key = await makeKey(context, user, ['public'])
  await user.sql('create table t (cartodb_id int); insert into t values (7)', undefined, key)
  await user.sql(`select CDB_CartodbfyTable('t')`)
  await user.sql('insert into t default values', undefined, key)
  assert.deepEqual(await column(user, 'select cartodb_id from t order by 1'), [7, 8])
})

/** Records who runs it, and takes more rights if it can get them. */
const trap = `create function trap(what text) returns boolean language plpgsql as $$
  begin
    perform pg_catalog.set_config('role', 'none', true);
    execute pg_catalog.format('create table public.%I ()', 'caught_' || what || '_as_' || current_user);
    return true;
  exception when duplicate_table then return true;
  end $$;`

test("cartodbfying another's table never runs the owner's code with the caller's rights", async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  const key = await makeKey(context, user, ['public'])
  const asAdmin = (text: string) => admin(text, [], user.account.database)
  // Keys can no longer create code: the operator, who can do everything, gives them what they might still have.
  await user.sql(`${trap} create table t (wkt text, n int); create table u (wkt text, n int)`, undefined)
  await asAdmin(`set search_path = public; alter table t owner to "${key}"; alter function trap owner to "${key}";
    alter table t add check (trap('check')), force row level security, enable row level security;
    create policy p on t using (trap('policy'));`)
  assert.match(
    (await refusal(user, `select CDB_CartodbfyTable('t')`)) ?? '',
    /^42501: (constraint t_check|policy p) of table public\.t calls public\.trap\(text\), which is not yours/,
  )
  await user.sql('alter table u add check (trap(wkt)); create view v as select wkt from u')
  for (const table of ['t', 'u']) {
    await assert.rejects(asAdmin(`select cartodb.CDB_CartodbfyTable('public.${table}')`), {
      code: '42501',
      message: `must be owner of table ${table}`,
    })
  }
  assert.deepEqual(await column(user, `select relname from pg_class where relname ~ '^caught'`), [])
})

test("the operator does not recreate a tenant's view on a table of the operator", async (t) => {
  const { user, admin } = await setup(t)
  const { database, masterRole } = user.account
  await admin(
    `create table public.shared as select 'POINT(1 2)' as wkt; grant select on public.shared to "${masterRole}"`,
    [],
    database,
  )
  await user.sql('create view v as select wkt from shared')
  await assert.rejects(admin(`select cartodb.CDB_CartodbfyTable('public.shared')`, [], database), {
    code: '2BP01',
  })
})

test('only the owner of a table can cartodbfy it, whatever other rights a role has on it', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql('create table t (name text)')
  const key = await makeKey(context, user, ['public'], { t: ['select', 'insert', 'update', 'delete'] })
  await user.sql(`create table made (name text)`, undefined, key)
  for (const role of [key, user.account.publicRole]) {
    for (const text of [
      `select CDB_CartodbfyTable('t')`,
      `select CDB_CartodbfyTable('${user.username}', 't')`,
    ]) {
      assert.equal(await refusal(user, text, role), '42501: must be owner of table t')
    }
  }
  assert.equal(
    await refusal(user, `select CDB_CartodbfyTable('made')`, user.account.publicRole),
    '42501: must be owner of table made',
  )
  for (const table of ['spatial_ref_sys', 'pg_class']) {
    assert.match(
      (await refusal(user, `select CDB_CartodbfyTable('${table}')`)) ?? '',
      /^42501: must be owner/,
    )
  }
  assert.deepEqual(await column(user, `select CDB_ColumnNames('t')`), ['name'])
})

test("the first of two arguments is the member's user name, or the name of its schema", async (t) => {
  const { user, createOrganization, createUser } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await owner.sql('create table t (name text)')
  assert.equal(await value(owner, `select CDB_CartodbfyTable('${owner.username}', 't')`), 't')
  await assertPrepared(owner, 't')
  for (const wrong of [member.username, name, 'public', 'nobody', '', `x'; drop table t; --`]) {
    const { message, code } = await owner.sql('select CDB_CartodbfyTable($1, $2)', [wrong, 't']).then(
      () => assert.fail(wrong),
      (error) => error,
    )
    assert.equal(code, '22023')
    assert.equal(
      message,
      `"${wrong}" is neither your user name nor that of the owner of table "${owner.username}".t`,
    )
  }
  await user.sql('create table t (name text)')
  assert.equal(await value(user, `select CDB_CartodbfyTable('public', 't')`), 't')
  assert.equal(await value(user, `select CDB_CartodbfyTable('${user.username}', 't')`), 't')
})

test("a member cannot cartodbfy another member's table, under either name", async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  await owner.sql(`create table t (name text); grant usage, create on schema "${owner.username}" to "${member.account.masterRole}";
    grant all on t to "${member.account.masterRole}"`)
  for (const first of ['', `'${owner.username}', `, `'${member.username}', `]) {
    assert.equal(
      await refusal(member, `select CDB_CartodbfyTable(${first}'"${owner.username}".t')`),
      '42501: must be owner of table t',
    )
  }
})

test('the one-argument form works on the table where it is, in any schema', async (t) => {
  const { user } = await setup(t)
  await user.sql('create schema "S.s"; create table "S.s".t (name text); create table t (other text)')
  assert.equal(await value(user, `select CDB_CartodbfyTable('"S.s".t')`), '"S.s".t')
  await assertPrepared(user, '"S.s".t')
  assert.deepEqual(await column(user, `select CDB_ColumnNames('t')`), ['other'])
})

test('cartodbfying a table grants nothing to anybody', async (t) => {
  const { user } = await setup(t)
  await user.sql(`create table t (name text); select CDB_CartodbfyTable('t')`)
  assert.deepEqual(
    await rows(
      user,
      `select relname, grantee::regrole from pg_class, aclexplode(relacl) where relname ~ '^t(_|$)' and grantee <> relowner`,
    ),
    [],
  )
  assert.match((await refusal(user, 'select * from t', user.account.publicRole)) ?? '', /^42501/)
})
