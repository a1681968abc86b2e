import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrateTenants } from '../../src/hosts/tenant-databases.ts'
import { jobSession } from '../support/jobs/job-session.ts'
import { setup } from '../support/service/setup.ts'

test('an open transaction of a tenant does not hold up migrations of its database', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { user } = house
  const { installation } = house.service.services
  const holder = await jobSession(t, house, user, { searchPath: 'postgis' })
  await holder.query('begin; select from spatial_ref_sys limit 1; select pg_advisory_lock(7238001)')
  const sql = 'alter table postgis.spatial_ref_sys add column later integer'
  const tenantMigrations = [...installation.tenantMigrations, { name: '9999-later', sql, checksum: 'later' }]
  assert.equal(await migrateTenants({ ...installation, tenantMigrations }, 1), true)
  assert.equal((await user.sql('select later from postgis.spatial_ref_sys limit 1')).rowCount, 1)
})
