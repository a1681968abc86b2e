import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../setup.ts'
import { assertPrepared } from './assert-prepared.ts'
import { column, makeKey, openSession, refusal, rows, value } from './tenant-session.ts'

test('a key with nothing but `create` on the schema prepares the tables that it owns', async (t) => {
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

test("the master key prepares a key's table, which stays the key's with all that was added", async (t) => {
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

test("code that a key hid in its table runs with the key's rights, also when the master key prepares the table", async (t) => {
  const context = await setup(t)
  const { user } = context
  const key = await makeKey(context, user, ['public'])
  await user.sql(
    `create function trap(what text) returns boolean language plpgsql immutable as
       $$begin raise notice '% as %', what, current_user; return true; end$$;
     create function trap_any(anyelement) returns boolean language plpgsql as $$begin return public.trap('check'); end$$;
     create function trapped(text) returns text language plpgsql immutable as
       $$begin perform public.trap('index'); return $1; end$$;
     create domain tricky as text check (public.trap('literal'));
     create type tricks as (value tricky);
     create function pass() returns trigger language plpgsql as $$begin return new; end$$;
     create table t (wkt text check (public.trap_any(wkt)), name text);
     insert into t values ('POINT(1 2)');
     create index on t (trapped(name));
     create view v as select wkt, '(x)'::tricks as trick from t;
     create materialized view m as select wkt, trap('view') from t;
     create trigger own before update of wkt on t for each row when (new.name <> ('(x)'::tricks).value) execute function pass()`,
    undefined,
    key,
  )
  const session = await openSession(t, context, user)
  const notices: string[] = []
  session.on('notice', ({ message }) => notices.push(String(message)))
  await session.query(`select CDB_CartodbfyTable('t')`)
  await assertPrepared(user, 't')
  assert.deepEqual([...new Set(notices)].sort(), [
    `check as ${key}`,
    `index as ${key}`,
    `literal as ${key}`,
    `view as ${key}`,
  ])
})

test('who does not own the table cannot prepare it, whatever else they may do with it', async (t) => {
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

test("the first of two arguments is the member's user name; a schema's name is taken for it", async (t) => {
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

test("a member cannot prepare another member's table, under either name", async (t) => {
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

test('the operator prepares a table for its owner', async (t) => {
  const { user, admin } = await setup(t)
  await user.sql('create table t (name text)')
  await admin(`select cartodb.CDB_CartodbfyTable('public.t')`, [], user.account.database)
  await assertPrepared(user, 't')
  assert.deepEqual(
    await column(user, `select distinct relowner::regrole::text from pg_class where relname ~ '^t(_|$)'`),
    [user.account.masterRole],
  )
})

test('the one-argument form works on the table where it is, in any schema', async (t) => {
  const { user } = await setup(t)
  await user.sql('create schema "S.s"; create table "S.s".t (name text); create table t (other text)')
  assert.equal(await value(user, `select CDB_CartodbfyTable('"S.s".t')`), '"S.s".t')
  await assertPrepared(user, '"S.s".t')
  assert.deepEqual(await column(user, `select CDB_ColumnNames('t')`), ['other'])
})

test('preparing a table grants nothing to anybody', async (t) => {
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
