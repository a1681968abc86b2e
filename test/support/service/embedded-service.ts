import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createAdminClient, createClient } from '../../../src/client/client.ts'
import { cartage } from '../http/call.ts'
import { embeddedSuperuser } from './data-dir.ts'
import { madeDataDir } from './made-installation.ts'
import { startCartage } from './processes.ts'

/** A running installation with its own cluster, its operator, and clients of its users. */
export async function startEmbedded(t: TestContext, more: Readonly<Record<string, string>> = {}) {
  const dataDir = await madeDataDir(t)
  const env = { CARTAGE_DATA_DIR: dataDir, ...more }
  const process = await startCartage(t, ['serve'], { ...env, CARTAGE_DEMO_USER: 'off' })
  const adminToken = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim()
  const operatorAt = (baseUrl: string) => {
    const client = createAdminClient({ baseUrl, token: adminToken })
    t.after(() => client.close())
    return client
  }
  const operator = operatorAt(process.url)
  const clientOf = (username: string, token: string) => {
    const client = createClient({ baseUrl: process.url, username, token, retries: 0 })
    t.after(() => client.close())
    return client
  }
  return {
    dataDir,
    process,
    operator,
    operatorAt,
    adminToken,
    clientOf,
    newUser: async (username: string) =>
      clientOf(username, (await operator.users.create({ username })).api_key),
    run: (...args: readonly string[]) => cartage(env, ...args),
  }
}

/** The users in any state; asserts that there is no database or role of another. */
export async function accountsOf(t: TestContext, dataDir: string) {
  const control = await embeddedSuperuser(t, dataDir, 'cartage')
  const { rows } = await control.query<{ username: string; master_role: string }>(
    'select username, master_role from cartage.users order by username',
  )
  const { rows: left } = await control.query<{ name: string }>(
    `select rolname::text as name from pg_roles where rolname ~ '^cartage_u[0-9]+' and regexp_replace(rolname, '^(cartage_u[0-9]+).*', '\\1') <> all ($1)
     union all select datname from pg_database where datname ~ '^cartage_u' and datname <> all ($1)`,
    [rows.map(({ master_role }) => master_role)],
  )
  assert.deepEqual(left, [])
  return rows.map(({ username }) => username)
}
