import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClientBase } from 'pg'
import { onConnection } from './transaction.ts'

export type Migration = Readonly<{ name: string; sql: string }>

/** The migrations of one folder, in order. */
export async function readMigrations(folder: string): Promise<readonly Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\.sql$/, ''),
      sql: await readFile(join(folder, file), 'utf8'),
    })),
  )
}

/**
 * Brings the database of `client` up to date, each step in a transaction of its own. Processes that start at once
 * wait for each other on an advisory lock of that database. The limits of the session are then those of a migration.
 */
export async function migrate(
  client: ClientBase,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  // Another process may be at it for a while; whoever holds a table may not.
  await client.query(`set statement_timeout = '30min'; set lock_timeout = '5min'`)
  await client.query('select pg_catalog.pg_advisory_lock($1)', [migrationLock])
  try {
    await client.query(`set lock_timeout = '30s'`)
    await client.query('create schema if not exists cartage')
    await client.query(
      'create table if not exists cartage.migrations (name text primary key, applied_at timestamptz not null default pg_catalog.now())',
    )
    const { rows } = await client.query<{ name: string }>('select name from cartage.migrations')
    const applied = new Set(rows.map((row) => row.name))
    const missing = migrations.filter(({ name }) => !applied.has(name))
    for (const migration of missing) await apply(client, migration)
    return missing.map(({ name }) => name)
  } finally {
    await client.query('select pg_catalog.pg_advisory_unlock($1)', [migrationLock])
  }
}

async function apply(client: ClientBase, migration: Migration): Promise<void> {
  await onConnection(client, async (tx) => {
    await tx.query(migration.sql)
    await tx.query('insert into cartage.migrations (name) values ($1)', [migration.name])
  })
}

const migrationLock = 7238001
