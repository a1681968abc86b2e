import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecords, writeRecords } from '../../../src/accounts/moves/new-place.ts'
import { adminTarget } from '../../../src/postgres/session-target.ts'
import { setup } from '../../support/service/setup.ts'

/** What the service keeps in a tenant database. A move must copy a new column, or this list says why not. */
const known = {
  accounts: 'master_role public_role quota_in_bytes schema_name username',
  // Only of running transactions: a move begins when there are none.
  commit_checks: 'transaction username',
  // Created with the account.
  commit_turns: 'turn username',
  grants: 'id made_by permissions relation role_name schema_name table_name',
  // Only of running transactions.
  made_tables: 'relation transaction',
  // Written when the new database is created.
  migrations: 'applied_at checksum name',
  roles: 'key_type role_name services username version',
  table_changes: 'relation transaction updated_at',
  // Collected before the switch.
  table_notes: 'account action at details id role_name subject transaction username',
  // Only of running transactions.
  tasks: 'task transaction',
}

test('a move knows every table and column of the service in a tenant database', async (t) => {
  const { user, admin } = await setup(t)
  const { rows } = await admin(
    `select relname::text as table, string_agg(attname::text, ' ' order by attname) as columns
     from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
     where relnamespace = 'cartage'::regnamespace and relkind in ('r', 'p') group by relname`,
    [],
    user.account.database,
  )
  assert.deepEqual(Object.fromEntries(rows.map(({ table, columns }) => [table, columns])), known)
})

test("the service's records of an account are the same on its new host", async (t) => {
  const { user, admin, service } = await setup(t)
  const { account } = user
  const { admin: pool, hosts } = service.services.databases
  await user.sql('create table t (n int)')
  await admin(`update cartage.roles set version = 7, services = '{routing}'`, [], account.database)
  const target = adminTarget(hosts, account.hostId, account.database)
  const before = await pool.use(target, (session) => readRecords(session))
  assert.deepEqual(
    before.roles.map(({ version }) => version),
    [7, 7],
  )
  await admin(`update cartage.roles set version = 0, services = '{}'`, [], account.database)
  await pool.use(target, (session) => writeRecords(session, before))
  assert.deepEqual(await pool.use(target, (session) => readRecords(session)), before)
})
