import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Setup, setup, type TestUser } from '../support/setup.ts'

/** No connection is kept, so every request logs in. */
const config = { connectionIdleMs: 0 }

test('a role that set itself something in any database of the cluster is let in again, and the setting is gone', async (t) => {
  const house = await setup(t, { config })
  const { user, admin, createUser } = house
  const { masterRole, publicRole } = user.account
  await createUser()
  const { rows } = await admin('select datname from pg_database where datallowconn order by datname')
  for (const role of [publicRole, masterRole]) {
    for (const { datname } of rows) {
      await user.sql(`alter role current_user in database "${datname}" set work_mem = '4MB'`, [], role)
    }
    const key = role === masterRole ? user.masterToken : undefined
    assert.deepEqual(await ask(user, 'select 1 as value', key), { status: 200, value: 1 }, role)
    assert.deepEqual(await settingsOf(house, role), [])
  }
})

async function ask(user: TestUser, q: string, key?: string): Promise<{ status: number; value: unknown }> {
  const body = new URLSearchParams({ q, ...(key && { api_key: key }) })
  const response = await fetch(`${user.base}/api/v2/sql`, { method: 'POST', body })
  const answer = (await response.json()) as { rows?: { value: unknown }[] }
  return { status: response.status, value: answer.rows?.[0]?.value }
}

async function settingsOf({ admin }: Setup, role: string): Promise<unknown[]> {
  const { rows } = await admin(
    'select setconfig from pg_db_role_setting join pg_roles on pg_roles.oid = setrole where rolname = $1',
    [role],
  )
  return rows
}
