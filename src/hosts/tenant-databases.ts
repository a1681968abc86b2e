import { quoteName } from '../contract/text/quote.ts'
import { holdName } from '../postgres/advisory-locks.ts'
import { type Databases, tenantPools } from '../postgres/databases.ts'
import { endBackends } from '../postgres/end-backend.ts'
import { endingSilentCopies } from '../postgres/end-blockers.ts'
import { type Migration, migrate } from '../postgres/migrate.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, isBusy, isOutOfReach, sqlstate } from '../postgres/sqlstate.ts'
import { templateName } from '../postgres/tenant-names.ts'
import { laggingDatabases, recordMigrated } from './database-store.ts'
import type { Installation } from './installation.ts'

/**
 * Creates or migrates the template of tenant databases: PostGIS and the cartodb schema. Processes that start together
 * wait for each other; no connection stays open, as CREATE DATABASE needs exclusive access to the template.
 */
export async function prepareTemplate(
  { databases, namespace, tenantMigrations }: Installation,
  hostId: number,
): Promise<void> {
  const template = templateName(namespace)
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    await holdName(session, `preparing ${template}`)
    const { rowCount } = await session.query('select from pg_catalog.pg_database where datname = $1', [
      template,
    ])
    if (rowCount === 0) await createDatabase(databases, hostId, template, 'template0')
    await migrateTenant(databases, hostId, template, tenantMigrations)
    await databases.admin.closeDatabase(hostId, template)
  })
}

/**
 * A database for a tenant: a migrated copy of the template, where PUBLIC may not connect. The template may be behind
 * for a while.
 */
export async function createTenantDatabase(
  installation: Installation,
  hostId: number,
  name: string,
  whatIsThere: 'is dropped' | 'stays' = 'is dropped',
): Promise<void> {
  const template = templateName(installation.namespace)
  await createDatabase(installation.databases, hostId, name, template, whatIsThere)
  await migrateTenant(installation.databases, hostId, name, installation.tenantMigrations)
  await noteMigrated(installation, hostId, name)
}

export async function dropDatabase(
  databases: Databases,
  hostId: number,
  name: string,
  confirm: () => Promise<void> = async () => undefined,
): Promise<void> {
  const pools = [databases.admin, ...tenantPools(databases)]
  await Promise.all(pools.map((each) => each.closeDatabase(hostId, name)))
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    await holdName(session, name)
    await confirm()
    await endingSilentCopies(databases, session, () =>
      session.query(`drop database if exists ${quoteName(name)} with (force)`),
    )
  })
}

/**
 * Migrates the databases of a host's tenants that lag behind. False: some could not be migrated because of a tenant's
 * activity there; the others do not wait for them.
 */
export async function migrateTenants(installation: Installation, hostId: number): Promise<boolean> {
  const lagging = await laggingDatabases(
    installation.databases.control,
    newestOf(installation.tenantMigrations),
    hostId,
  )
  let isComplete = true
  for (const name of lagging) isComplete = (await isMigrated(installation, hostId, name)) && isComplete
  return isComplete
}

/**
 * Ends transactions that lock what the migration changes. Otherwise a tenant could block the migration of its database.
 */
async function isMigrated(installation: Installation, hostId: number, name: string): Promise<boolean> {
  const { databases, tenantMigrations, log } = installation
  const attempt = () => migrateTenant(databases, hostId, name, tenantMigrations)
  try {
    await attempt().catch(async (error: unknown) => {
      if (!isBusy(error)) throw error
      await endTransactions(databases, hostId, name)
      await attempt()
    })
    await noteMigrated(installation, hostId, name)
    return true
  } catch (error) {
    if (isOutOfReach(error)) throw error
    log.error({ err: error, database: name }, 'cannot migrate the database of a tenant')
    return false
  }
}

async function endTransactions(databases: Databases, hostId: number, name: string): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
    endBackends(session, `datname = $1 and usename <> current_user and xact_start < now() - interval '2 s'`, [
      name,
    ]),
  )
}

async function createDatabase(
  databases: Databases,
  hostId: number,
  name: string,
  template: string,
  whatIsThere: 'is dropped' | 'stays' = 'is dropped',
): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    await holdName(session, name)
    const copy = `create database ${quoteName(name)} template ${quoteName(template)} encoding 'UTF8'`
    await session.query(copy).catch(async (error) => {
      // Left by a creation that died; its row is gone.
      if (whatIsThere === 'stays' || !hasSqlstate(error, sqlstate.duplicateDatabase)) throw error
      await session.query(`drop database ${quoteName(name)} with (force)`)
      await session.query(copy)
    })
    await session.query(`revoke all on database ${quoteName(name)} from public`)
  })
}

/** PostGIS first, in its own schema: the migrations use its types. */
export async function migrateTenant(
  databases: Databases,
  hostId: number,
  name: string,
  migrations: readonly Migration[],
): Promise<void> {
  await databases.admin.use(adminTarget(databases.hosts, hostId, name), async (session) => {
    await session.query(
      'create schema if not exists postgis; create extension if not exists postgis schema postgis',
    )
    await session.onClient((client) => migrate(client, migrations, '2s'))
  })
}

async function noteMigrated(
  { databases, tenantMigrations }: Installation,
  hostId: number,
  name: string,
): Promise<void> {
  await recordMigrated(databases.control, hostId, name, newestOf(tenantMigrations))
}

export const newestOf = (migrations: readonly Migration[]) => migrations.at(-1)?.name
