import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey, refusal, rows, value } from '../support/postgres/tenant-session.ts'
import { setup } from '../support/service/setup.ts'

test('CDB_Username answers the user whose key is calling, whatever role the key has', async (t) => {
  const context = await setup(t)
  const { user } = context
  const key = await makeKey(context, user)
  for (const role of [user.account.masterRole, user.account.publicRole, key]) {
    assert.equal(await value(user, 'select CDB_Username()', role), user.username)
  }
  assert.equal(await value(user, `set role "${key}"; select CDB_Username()`), user.username)
})

test('CDB_Username distinguishes the members of an organization and is empty for the operator', async (t) => {
  const { createOrganization, createUser, admin } = await setup(t)
  const { name, owner } = await createOrganization()
  const member = await createUser({ organization: name })
  assert.equal(await value(owner, 'select CDB_Username()'), owner.username)
  assert.equal(await value(member, 'select CDB_Username()'), member.username)
  const operator = await admin('select cartodb.CDB_Username() as name', [], owner.account.database)
  assert.equal(operator.rows[0]!.name, null)
})

test("CDB_Services answers the data services of the caller's key", async (t) => {
  const { user } = await setup(t)
  assert.deepEqual(await value(user, 'select CDB_Services()'), [
    'geocoding',
    'routing',
    'isolines',
    'observatory',
  ])
  assert.deepEqual(await value(user, 'select CDB_Services()', user.account.publicRole), [])
})

test('everything in schema cartodb belongs to the operator, and tenants cannot change it', async (t) => {
  const { user, admin } = await setup(t)
  const { rows: owners } = await admin(
    `select distinct rolsuper from pg_proc join pg_roles on pg_roles.oid = proowner
     where pronamespace in ('cartodb'::regnamespace, 'cartage'::regnamespace)
     union select distinct rolsuper from pg_class join pg_roles on pg_roles.oid = relowner
     where relnamespace in ('cartodb'::regnamespace, 'cartage'::regnamespace)`,
    [],
    user.account.database,
  )
  assert.deepEqual(owners, [{ rolsuper: true }])
  for (const text of [
    'create function cartodb.mine() returns int language sql return 1',
    'create or replace function cartodb.CDB_Username() returns text language sql return null::text',
    'drop function cartodb.CDB_Username()',
    'alter function cartodb.CDB_Username() security invoker',
  ]) {
    assert.match((await refusal(user, text)) ?? 'allowed', /^42501/, text)
  }
})

test('every SECURITY DEFINER function has a fixed search_path', async (t) => {
  const { user, admin } = await setup(t)
  const { rows: loose } = await admin(
    `select oid::regprocedure::text from pg_proc
     where pronamespace in ('cartodb'::regnamespace, 'cartage'::regnamespace) and prosecdef
       -- Schema postgis is the operator's, too.
       and not coalesce(
         proconfig && '{"search_path=pg_catalog, pg_temp","search_path=pg_catalog, postgis, pg_temp"}', false)`,
    [],
    user.account.database,
  )
  assert.deepEqual(loose, [])
})

test("functions with the caller's rights have a fixed search_path or bound names, except six", async (t) => {
  const { user, admin } = await setup(t)
  const { rows: free } = await admin(
    `select proname from pg_proc
     where pronamespace = 'cartodb'::regnamespace
       and proconfig is null and prosqlbody is null and prokind <> 'a'
     order by proname`,
    [],
    user.account.database,
  )
  assert.deepEqual(
    free.map(({ proname }) => proname),
    [
      // For every row; the one name in each is schema-qualified.
      '_cdb_importlonlat',
      '_cdb_importwebmercator',
      // Its arguments are names in a query, resolved as for the caller.
      '_cdb_queryversion',
      '_cdb_update_the_geom_webmercator',
      // Their argument is SQL whose names are resolved as for the caller.
      'cdb_querytables',
      'cdb_querytablestext',
    ],
  )
})

test('schema cartodb lets PUBLIC only read its views and call its functions', async (t) => {
  const { user, admin } = await setup(t)
  const { rows: given } = await admin(
    `select relname, privilege_type from pg_class, aclexplode(relacl)
     where relnamespace in ('cartodb'::regnamespace, 'cartage'::regnamespace) and grantee = 0 order by relname`,
    [],
    user.account.database,
  )
  assert.deepEqual(given, [
    { relname: 'cdb_tablemetadata', privilege_type: 'SELECT' },
    { relname: 'cdb_tablemetadata_text', privilege_type: 'SELECT' },
  ])
  assert.match((await refusal(user, 'select cartage.data_size($$x$$)')) ?? '', /^42501/)
  assert.deepEqual(await rows(user, "select has_schema_privilege('cartage', 'usage') as reached"), [
    { reached: false },
  ])
})
