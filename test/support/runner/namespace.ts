import pg from 'pg'
import { readConfig } from '../../../src/config/config.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import type { InstallationSecrets } from '../../../src/hosts/secret/installation-secrets.ts'
import { createLog } from '../../../src/log/log.ts'

export const testKeys = (adminUrl: string): InstallationSecrets => ({
  adminUrl,
  secret: 'a secret for tests, the same everywhere',
  adminToken: 'test-admin-token-for-all-tests',
})

/** Creates the databases that all tests share, before the first test needs them. */
export async function prepareNamespace(adminUrl: string, namespace: string): Promise<void> {
  const config = { ...readConfig({}), namespace }
  const installation = await openInstallation(config, testKeys(adminUrl), createLog('error'))
  await installation.databases.close()
  // A copy of compact files takes a fifth less time, and every test user is a copy.
  await runSql({ connectionString: withDatabase(adminUrl, `${namespace}_template`) }, 'vacuum full')
}

/**
 * Installing PostGIS takes longer than most tests: a further namespace copies the template of the first, unless a
 * session uses it. The service creates what is missing.
 */
export async function copyTemplate(adminUrl: string, from: string, to: string): Promise<void> {
  const run = (text: string) => runSql({ connectionString: adminUrl }, text)
  try {
    await run(`create database "${to}_template" template "${from}_template"`)
    await run(`revoke all on database "${to}_template" from public`)
  } catch (error) {
    if (!['3D000', '55006'].includes((error as pg.DatabaseError).code ?? '')) throw error
  }
}

/** The control database and the template; the accounts are deleted by then. */
export async function dropNamespace(adminUrl: string, namespace: string): Promise<void> {
  for (const database of [namespace, `${namespace}_template`]) {
    await runSql({ connectionString: adminUrl }, `drop database if exists "${database}" with (force)`)
  }
}

export async function runSql(
  config: pg.ClientConfig,
  text: string,
  values?: unknown[],
): Promise<pg.QueryResult> {
  const client = new pg.Client(config)
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await client.query(text, values)
  } finally {
    await client.end()
  }
}

/**
 * Queries a database as its administrator, on a session kept for a moment: starting one takes fifteen milliseconds of
 * CPU, and a test that waits queries often.
 */
export async function look(
  connectionString: string,
  text: string,
  values?: unknown[],
): Promise<pg.QueryResult> {
  const pool = pools.get(connectionString) ?? new pg.Pool({ connectionString, ...forAMoment })
  if (!pools.has(connectionString)) pool.on('error', () => undefined)
  pools.set(connectionString, pool)
  return pool.query(text, values)
}

const pools = new Map<string, pg.Pool>()
const forAMoment = { max: 10, idleTimeoutMillis: 500, allowExitOnIdle: true }

/** One query that leaves nothing in its session. */
export const isLook = (text: string) => /^\s*select\b[^;]*$/i.test(text) && !/set_config|advisory/i.test(text)

export function withDatabase(url: string, database: string | undefined): string {
  if (database === undefined) return url
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}
