import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/service/setup.ts'

test('creating a user creates a database with PostGIS, a master role and a public role', async (t) => {
  const { user, admin } = await setup(t)
  const { rows } = await user.sql(
    'select postgis.postgis_version() as version, current_user as role, current_database() as database',
  )
  assert.match(rows[0].version, /^3\./)
  assert.equal(rows[0].role, user.account.masterRole)
  const roles = await admin('select rolname from pg_roles where rolname like $1 order by 1', [
    `${user.account.masterRole}%`,
  ])
  assert.deepEqual(
    roles.rows.map((row) => row.rolname),
    [user.account.masterRole, user.account.publicRole],
  )
})
