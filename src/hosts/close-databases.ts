import { quoteName } from '../contract/text/quote.ts'
import { holdName } from '../postgres/advisory-locks.ts'
import type { Session } from '../postgres/session.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { isBusy } from '../postgres/sqlstate.ts'
import { templateName, tenantDatabasePattern } from '../postgres/tenant-names.ts'
import type { Installation } from './installation.ts'

/**
 * Revokes the rights of PUBLIC on the installation's databases on a host: its own, the template and the tenants'.
 * PostgreSQL lets PUBLIC connect to every new database, for example one made by an operator or a restore. False: some
 * could not be closed because of a tenant's lock.
 */
export async function closeDatabases(
  { databases, namespace, log }: Installation,
  hostId: number,
): Promise<boolean> {
  return databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    let isComplete = true
    for (const name of await openDatabases(session, namespace)) {
      const isClosed = await closeDatabase(session, name)
      if (!isClosed)
        log.error({ database: name }, 'PUBLIC may connect to a database, and revoking that failed')
      isComplete &&= isClosed
    }
    return isComplete
  })
}

async function openDatabases(session: Session, namespace: string): Promise<readonly string[]> {
  const { rows } = await session.query<{ name: string }>(
    `select datname::text as name from pg_catalog.pg_database
     -- A superuser may act for every owner.
     where (datname = any ($1) or datname ~ $2) and pg_catalog.pg_has_role(datdba, 'usage') and exists (
       select from pg_catalog.aclexplode(coalesce(datacl, pg_catalog.acldefault('d', datdba))) where grantee = 0)
     order by datname`,
    [[namespace, templateName(namespace)], tenantDatabasePattern(namespace)],
  )
  return rows.map(({ name }) => name)
}

/** A database that another process is creating is closed by that process first. */
async function closeDatabase(session: Session, name: string): Promise<boolean> {
  await holdName(session, name)
  try {
    await session.query(
      `set local lock_timeout = '2s'; revoke all on database ${quoteName(name)} from public`,
    )
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}
