import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteOrganization } from '../../src/accounts/delete-organization.ts'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { checkOrphans } from '../../src/doctor/check-orphans.ts'
import { organizationOf } from '../support/keys/organization.ts'
import { type Setup, setup, type TestUser } from '../support/service/setup.ts'

test('creating a member of a large organization also makes spare roles for the next members', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const organization = await organizationOf(house, 19)
  assert.deepEqual(await sparesOf(house), [])
  const last = await house.createUser({ organization })

  await t.test('nobody can log in with the spare roles', async () => {
    const spare = await nextSpare(house, organization)
    const { rows } = await house.admin(
      'select rolcanlogin, rolpassword from pg_authid where rolname in ($1, $2)',
      [spare, `${spare}_public`],
    )
    const closed = { rolcanlogin: false, rolpassword: null }
    assert.deepEqual(rows, [closed, closed])
  })

  await t.test('a member made of spare roles has the rights of every member, and no others', async () => {
    const spare = await nextSpare(house, organization)
    const member = await house.createUser({ organization })
    assert.equal(member.account.masterRole, spare)
    assert.deepEqual(await rightsOf(house, member), await rightsOf(house, last))
    assert.deepEqual(await used(member), await used(last))
  })

  await t.test('a member is created without spare roles too', async () => {
    const spare = await nextSpare(house, organization)
    const roles = `${spare}, ${spare}_public`
    await house.admin(`drop owned by ${roles}; drop role ${roles}`, [], last.account.database)
    const member = await house.createUser({ organization })
    assert.equal(member.account.masterRole, spare)
    assert.deepEqual(await rightsOf(house, member), await rightsOf(house, last))
  })

  await t.test('members created at once get different roles', async () => {
    await nextSpare(house, organization)
    const members = await Promise.all(Array.from({ length: 5 }, () => house.createUser({ organization })))
    assert.equal(new Set(members.map(({ account }) => account.masterRole)).size, 5)
    const [first, ...others] = await Promise.all(members.map((member) => rightsOf(house, member)))
    for (const rights of others) assert.deepEqual(rights, first)
  })

  await t.test('the doctor accepts spare roles, and they are deleted with their organization', async () => {
    const { installation, databases } = house.service.services
    const spare = await nextSpare(house, organization)
    const found = await checkOrphans(installation)
    assert.deepEqual(
      found.map(({ status }) => status),
      ['ok', 'ok', 'ok'],
    )
    const { rows } = await databases.control.query(
      `select username from cartage.users where org_role = 'member'`,
    )
    for (const { username } of rows) await deleteUser(installation, username)
    await deleteOrganization(installation, organization)
    const { rowCount } = await house.admin('select from pg_roles where rolname ~ $1', [`^${spare}(_|$)`])
    assert.equal(rowCount, 0)
    assert.deepEqual(await sparesOf(house), [])
  })
})

/** The spare master role for the next member. */
async function nextSpare(house: Setup, organization: string): Promise<string> {
  for (;;) {
    const [spare] = await sparesOf(house)
    if (spare) return spare
    await house.createUser({ organization })
  }
}

async function sparesOf(house: Setup): Promise<readonly string[]> {
  const { rows } = await house.service.services.databases.control.query(
    'select master_role from cartage.spare_members order by user_id',
  )
  return rows.map(({ master_role }) => master_role)
}

/** Everything granted to a member's roles in its database, without their names. */
async function rightsOf(house: Setup, { account }: TestUser): Promise<readonly unknown[]> {
  const { rows } = await house.admin(
    `with granted (object, acl) as (
       select 'database', datacl from pg_database where datname = current_database()
       union all select oid::regprocedure::text, proacl from pg_proc
       union all select 'schema', nspacl from pg_namespace where nspname = $3
     ), role as (select * from pg_authid where rolname in ($1, $2))
     select right(rolname, 6) = 'public' as is_public, object, privilege_type, is_grantable
     from granted, aclexplode(acl) entry join role on role.oid = entry.grantee
     union all
     select right(rolname, 6) = 'public', 'role', row(rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin,
       rolreplication, rolbypassrls, rolconnlimit, rolvaliduntil, left(rolpassword, 13))::text, null
     from role
     union all
     select right(rolname, 6) = 'public', 'membership', (roleid <> role.oid)::text, admin_option
     from pg_auth_members join role on role.oid in (roleid, member)
     order by 1, 2, 3`,
    [account.masterRole, account.publicRole, account.schema],
    account.database,
  )
  assert.ok(rows.length > 20)
  return rows
}

/** Uses the rights of the master key and of requests without a key over HTTP. */
async function used({ base, masterToken }: TestUser): Promise<readonly unknown[]> {
  const ask = async (q: string, key: string) => {
    const response = await fetch(`${base}/api/v2/sql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ q, api_key: key }),
    })
    const { error, rows } = (await response.json()) as { error?: unknown; rows?: unknown }
    return [response.status, error ?? rows]
  }
  const answers = [
    await ask('create temporary table t as select 1 as a; select a from t', masterToken),
    await ask(
      'create table own (a integer); grant select on own to public; insert into own values (7)',
      masterToken,
    ),
    await ask('select pg_advisory_xact_lock(1) is null as held', masterToken),
    await ask('select a from own', 'default_public'),
    await ask('select pg_advisory_xact_lock(1)', 'default_public'),
    await ask('drop table own', masterToken),
  ]
  assert.deepEqual(
    answers.map(([status]) => status),
    [200, 200, 200, 200, 403, 200],
  )
  return answers
}
