import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { alignPrivileges, mayBackupGive, readPrivileges } from '../../../src/accounts/moves/access-lists.ts'
import { giveToOwners, readOwned } from '../../../src/accounts/moves/owners.ts'
import type { Session } from '../../../src/postgres/session.ts'
import { adminTarget } from '../../../src/postgres/session-target.ts'
import { admin } from '../../support/postgres/two-hosts.ts'
import { newInstallation } from '../../support/service/installation.ts'

test('names of owned objects that another server made up do not become statements of the administrator', async (t) => {
  await withAccount(t, async ({ session, roles, master, key }) => {
    const evil = `public.t owner to ${key}; alter role ${master} superuser; --`
    await giveToOwners(session, roles, [
      { type: 'table', identity: evil, owner: key },
      { type: `role ${master} superuser; --`, identity: 'public.t', owner: key },
      { type: 'table', identity: 'pg_catalog.pg_authid', owner: key },
    ])
    assert.deepEqual(await superusers(session, roles), [])
    await assert.rejects(
      giveToOwners(session, roles, [{ type: 'function', identity: 'public.f()', owner: 'postgres' }]),
      /an owner that is no role of the account/,
    )
    await giveToOwners(session, roles, [{ type: 'table', identity: 'public.t', owner: key }])
    const owned = await readOwned(session, roles)
    assert.deepEqual(
      owned.filter(({ owner }) => owner === key).map(({ identity }) => identity),
      ['public.t'],
    )
  })
})

test('privileges that another server made up are not granted', async (t) => {
  await withAccount(t, async ({ session, roles, master, key }) => {
    const held = await readPrivileges(session, roles)
    const harmless = {
      kind: 'table',
      object: 'public.t',
      part: '',
      grantor: master,
      grantee: key,
      privilege: 'SELECT',
      isGrantable: false,
    }
    const stacked = `; reset role; alter role ${master} superuser; --`
    const lies = [
      { ...harmless, object: `public.t to ${key}${stacked}` },
      { ...harmless, kind: `table public.t to ${key}${stacked}` },
      { ...harmless, part: `n) on public.t to ${key}${stacked}` },
      { ...harmless, privilege: `SELECT on public.t to ${key}${stacked}` },
      { ...harmless, kind: 'default', object: `${master} grant select on tables to ${key}${stacked}` },
      { ...harmless, grantor: null, privilege: `pg_read_all_data to ${master}; --` },
      { ...harmless, grantee: 'pg_monitor' },
      // Well-formed, but the operator's to give.
      {
        ...harmless,
        kind: 'routine',
        object: 'pg_catalog.pg_read_file(text)',
        grantor: null,
        privilege: 'EXECUTE',
      },
      { ...harmless, object: 'pg_catalog.pg_authid', grantor: null },
      { ...harmless, kind: 'schema', object: 'cartage', grantor: null, privilege: 'USAGE' },
    ]
    const { different, notGiven } = await alignPrivileges(
      session,
      roles,
      [...held, harmless, ...lies],
      mayBackupGive,
    )
    assert.deepEqual(new Set([...different, ...notGiven]), new Set(lies))
    assert.deepEqual(new Set(notGiven), new Set(lies.filter(({ grantor }) => grantor === null)))
    assert.deepEqual(await superusers(session, roles), [])
    assert.deepEqual(
      new Set((await readPrivileges(session, roles)).map((each) => JSON.stringify(each))),
      new Set([...held, harmless].map((each) => JSON.stringify(each))),
    )
  })
})

/** A user with a table, a function and a key, and the administrator in its database. */
async function withAccount(t: TestContext, work: (account: Account) => Promise<void>) {
  const service = await (await newInstallation(t)).start()
  const operator = admin(service)
  t.after(() => operator.close())
  await operator.users.create({ username: 'alice' })
  const { databases } = service.services.installation
  const { rows } = await databases.control.query<{ master: string; database: string }>(
    `select u.master_role as master, d.name as database
     from cartage.users u join cartage.databases d on d.id = u.database_id`,
  )
  const { master, database } = rows[0]!
  const key = `${master}_k99`
  await databases.admin.use(adminTarget(databases.hosts, 1, database), async (session) => {
    await session.query(`create role ${key}; grant ${key} to ${master};
      grant usage, create on schema public to ${key};
      create table public.t (n integer); alter table public.t owner to ${master};
      create function public.f() returns integer language sql as 'select 1';
      alter function public.f() owner to ${master}`)
    await work({ session, master, key, roles: [master, `${master}_public`, key] })
  })
}

type Account = Readonly<{ session: Session; master: string; key: string; roles: readonly string[] }>

async function superusers(session: Session, roles: readonly string[]): Promise<readonly string[]> {
  const { rows } = await session.query<{ name: string }>(
    'select rolname::text as name from pg_catalog.pg_roles where rolsuper and rolname = any ($1)',
    [roles],
  )
  return rows.map(({ name }) => name)
}
