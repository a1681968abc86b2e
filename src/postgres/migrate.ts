import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ClientBase } from 'pg'
import { errors } from '../errors.ts'
import { listPackageFolder, readPackageFile } from '../files/package-file.ts'
import { hasSqlstate, sqlstate } from './sqlstate.ts'
import { onConnection } from './transaction.ts'

export type Migration = Readonly<{ name: string; sql: string; checksum: string }>

/** The migrations of a folder, in order. */
export async function readMigrations(folder: string): Promise<readonly Migration[]> {
  const files = (await listPackageFolder(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file) => {
      const sql = (await readPackageFile(join(folder, file))).toString('utf8')
      return { name: file.replace(/\.sql$/, ''), sql, checksum: checksumOf(sql) }
    }),
  )
}

function checksumOf(sql: string): string {
  return createHash('sha256').update(sql).digest('hex')
}

/**
 * Migrates the client's database, each step in its own transaction. Processes that start together wait for each other
 * on the migrations table, which no tenant can lock. `lockTimeout` limits how long a step waits for a table in use.
 * Leaves the session with the timeouts of a migration.
 *
 * A database that an unreleased version made is refused, and so is a migration whose text has changed since it was applied: the
 * database would not be what the files say. Migrations of a later version are left alone.
 */
export async function migrate(
  client: ClientBase,
  migrations: readonly Migration[],
  lockTimeout = '30s',
): Promise<readonly string[]> {
  await client.query(`set statement_timeout = '30min'`)
  const applied = await appliedMigrations(client)
  const first = migrations[0]
  if (first && applied.size > 0 && !applied.has(first.name)) throw errors.madeBeforeRelease()
  const altered = migrations.find(({ name, checksum }) => (applied.get(name) ?? checksum) !== checksum)
  if (altered) throw errors.migrationAltered(altered.name)
  const done: string[] = []
  for (const migration of migrations) {
    if (!applied.has(migration.name) && (await apply(client, migration, lockTimeout)))
      done.push(migration.name)
  }
  return done
}

/** Checksums by name. */
async function appliedMigrations(client: ClientBase): Promise<ReadonlyMap<string, string>> {
  const { rows: columns } = await client.query<{ name: string }>(
    `select attname::text as name from pg_catalog.pg_attribute
     where attrelid = pg_catalog.to_regclass('cartage.migrations') and attnum > 0 and not attisdropped`,
  )
  if (columns.length === 0) await createTable(client)
  else if (!columns.some(({ name }) => name === 'checksum')) throw errors.madeBeforeRelease()
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from cartage.migrations',
  )
  return new Map(rows.map(({ name, checksum }) => [name, checksum]))
}

async function createTable(client: ClientBase): Promise<void> {
  await client
    .query(
      `create schema if not exists cartage;
       create table if not exists cartage.migrations (
         name text primary key, checksum text not null, applied_at timestamptz not null default pg_catalog.now())`,
    )
    .catch((error: unknown) => {
      // IF NOT EXISTS races with another process that creates the same table; it exists now.
      if (!hasSqlstate(error, sqlstate.uniqueViolation, sqlstate.duplicateTable, sqlstate.duplicateSchema))
        throw error
    })
}

/** False: another process applied it first. */
async function apply(client: ClientBase, migration: Migration, lockTimeout: string): Promise<boolean> {
  return onConnection(client, async (tx) => {
    // Another process may migrate for minutes; a tenant must not hold a table for that long.
    await tx.query(`set local lock_timeout = '5min'; lock table cartage.migrations in exclusive mode`)
    await tx.query(`set local lock_timeout = '${lockTimeout}'`)
    const { rowCount } = await tx.query('select from cartage.migrations where name = $1', [migration.name])
    if (rowCount) return false
    await tx.query(migration.sql)
    await tx.query('insert into cartage.migrations (name, checksum) values ($1, $2)', [
      migration.name,
      migration.checksum,
    ])
    return true
  })
}
