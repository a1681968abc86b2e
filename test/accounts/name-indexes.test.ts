import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/service/setup.ts'

test('a name in the catalogs is found by an index, whatever the number of members', async (t) => {
  const { user, admin } = await setup(t)
  const columns = [
    'accounts.schema_name',
    'accounts.master_role',
    'accounts.public_role',
    'roles.role_name',
    'grants.role_name',
    'grants.table_name',
  ]
  for (const column of columns) {
    const [table] = column.split('.')
    const { rows } = await admin(
      `begin; set local enable_seqscan = off; set local enable_bitmapscan = off;
       explain select from cartage.${table} where ${column} = current_user; commit`,
      undefined,
      user.account.database,
    ).then((results) => (results as unknown as { rows: Record<'QUERY PLAN', string>[] }[])[3]!)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.match(plan, /Index Cond: /, `${column}: ${plan}`)
  }
})
