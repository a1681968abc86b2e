import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { jobSession } from '../support/jobs/job-session.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('no tenant role is superuser, CREATEROLE, CREATEDB, BYPASSRLS, REPLICATION or a member of a pg_ role', async (t) => {
  const { user, admin } = await setup(t)
  const { rows } = await admin(
    `select rolname from pg_roles r where rolname = any($1) and (rolsuper or rolcreaterole or rolcreatedb or rolbypassrls
       or rolreplication or exists (select from pg_auth_members m join pg_roles g on g.oid = m.roleid
                                    where m.member = r.oid and g.rolname like 'pg\\_%'))`,
    [[user.account.masterRole, user.account.publicRole]],
  )
  assert.deepEqual(rows, [])
})

test("CONNECT is revoked from PUBLIC: a user can enter neither another user's database nor the control database", async (t) => {
  const { user, createUser, service } = await setup(t)
  const other = await createUser()
  const { databases, config } = service.services
  const enter = (database: string) =>
    databases.query.acquire({ hostId: 1, database, role: user.account.masterRole, searchPath: 'public' })
  for (const database of [other.account.database, config.namespace, `${config.namespace}_template`]) {
    await assert.rejects(enter(database), database)
  }
})

const refused: readonly (readonly [string, string])[] = [
  ['alter its database', 'alter database "%d" set statement_timeout = 0'],
  ['limit connections to its database', 'alter database "%d" connection limit 1'],
  ['make its database a template', 'alter database "%d" is_template true'],
  ['drop its database', 'drop database "%d"'],
  ['drop the cartodb schema', 'drop schema cartodb cascade'],
  ['create in the cartodb schema', 'create table cartodb.mine (id int)'],
  ['read the schema of the service', 'select * from cartage.accounts'],
  ['create a role', 'create role intruder'],
  ['create a database', 'create database intruder'],
  ['read a server file', `copy (select 1) to '/tmp/cartage-intruder'`],
  ['run a program', `copy (select 1) to program 'true'`],
  ['DROP OWNED', 'drop owned by current_user'],
  ['disable the event triggers', 'alter event trigger cartage_check_command disable'],
  ['drop the event triggers', 'drop event trigger cartage_check_command'],
  ['read a file by function', `select pg_read_file('/etc/passwd')`],
  ['reload the server', 'select pg_reload_conf()'],
  ['change a server setting', `alter system set fsync = off`],
  ['change spatial_ref_sys', 'delete from postgis.spatial_ref_sys'],
]

for (const [what, statement] of refused) {
  test(`neither the master nor the public role of a tenant can ${what}`, async (t) => {
    const { user } = await setup(t)
    const text = statement.replace('%d', user.account.database)
    for (const role of [user.account.masterRole, user.account.publicRole]) {
      await assert.rejects(
        user.sql(text, [], role),
        (error: { code?: string }) => error.code === '42501',
        role,
      )
    }
  })
}

test('no role of an account can create a large object, which no quota counts', async (t) => {
  const { user } = await setup(t)
  for (const role of [user.account.masterRole, user.account.publicRole])
    for (const call of ['lo_create(0)', 'lo_creat(-1)', `lo_from_bytea(0, 'x')`])
      await assert.rejects(user.sql(`select ${call}`, [], role), /permission denied/)
})

test('the public role sees a table only after SELECT is granted to it', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t as select 1 as id')
  await assert.rejects(user.sql('select * from t', [], user.account.publicRole), /permission denied/)
  await user.sql(`grant select on t to "${user.account.publicRole}"`)
  const { rows } = await user.sql('select * from t', [], user.account.publicRole)
  assert.deepEqual(rows, [{ id: 1 }])
  await assert.rejects(
    user.sql('create table mine (id int)', [], user.account.publicRole),
    /permission denied/,
  )
})

test('members of one organization can be created concurrently', async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name: organization } = await createOrganization()
  const members = await Promise.all(Array.from({ length: 6 }, () => createUser({ organization })))
  for (const member of members) assert.equal((await member.sql('create table t (id int)')).command, 'CREATE')
})

test('a member is created although another role changes the privileges of the database at that moment', async (t) => {
  const { createOrganization, createUser, service, admin } = await setup(t)
  const { name: organization, owner } = await createOrganization()
  const { database, masterRole } = owner.account
  const { addresses, adminRole, adminPassword } = service.services.databases.hosts.get(1)
  const other = new pg.Client({ ...addresses[0], user: adminRole, password: adminPassword, database })
  other.on('error', () => undefined)
  await other.connect()
  await other.query(`begin; grant connect on database "${database}" to "${masterRole}"`)
  const creating = createUser({ organization })
  await eventually(async () => {
    const { rowCount } = await admin(
      `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'`,
      [database],
    )
    assert.equal(rowCount, 1)
  })
  await other.query('commit')
  await other.end()
  assert.equal((await (await creating).sql('create table t (id int)')).command, 'CREATE')
})

test("members cannot read each other's code, but can read their own", async (t) => {
  const { user, createOrganization, createUser } = await setup(t)
  const { name: organization, owner } = await createOrganization()
  const member = await createUser({ organization })
  const code = `create function secret() returns text language plpgsql as $$ begin return 'hunter2'; end $$;
    create function bound() returns text language sql return 'hunter2'`
  await owner.sql(code)
  await user.sql(code)
  const bodies = `select pg_get_functiondef(oid) from pg_proc where proname in ('secret', 'bound')`
  assert.equal((await user.sql(bodies)).rowCount, 2)
  for (const text of [
    bodies,
    'select prosrc from pg_proc',
    'select * from pg_proc',
    'select p::text from pg_proc p',
    'select to_json(p) from pg_proc p',
    'select pg_get_function_sqlbody(oid) from pg_proc',
    'select prosqlbody from pg_proc',
  ]) {
    await assert.rejects(member.sql(text), { code: '42501' }, text)
  }
  const routines = `select routine_definition as body from information_schema.routines where routine_name = 'secret'`
  assert.deepEqual((await member.sql(routines)).rows, [{ body: null }])
  assert.match((await owner.sql(routines)).rows[0].body, /hunter2/)
  assert.ok(
    ((await member.sql(`select count(*)::int as n from pg_proc where proname = 'lower'`)).rows[0]
      .n as number) > 0,
  )
})

test('an outsider who locks the privileges of a shared database holds up neither new members nor new keys', async (t) => {
  const context = await setup(t)
  const { createOrganization, createUser } = context
  const { name: organization, owner } = await createOrganization()
  const holder = await jobSession(t, context, owner, { role: owner.account.publicRole })
  // The GRANT has no effect, because it is not allowed, and locks the row of the database all the same.
  const hold = () =>
    holder.query(`begin; grant connect on database "${owner.account.database}" to current_user`)
  await hold()
  const member = await createUser({ organization })
  assert.equal((await member.sql('select 1')).rowCount, 1)
})
