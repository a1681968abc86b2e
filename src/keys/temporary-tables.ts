import { servedDatabases } from '../hosts/database-store.ts'
import { endingBlockers } from '../postgres/end-blockers.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { isOutOfReach } from '../postgres/sqlstate.ts'
import type { TenantDatabase } from '../postgres/tenant-names.ts'
import type { KeysContext } from './key.ts'
import { takeTemporaryLook } from './key-store.ts'
import { untilFree } from './until-free.ts'

/**
 * Lets the role of a key make temporary tables if the key writes, and else no longer. The rights on a database are one
 * catalog row, which any role that may connect can lock: then this is retried in the background. A retry goes by what
 * the key has then, whatever became of the changes between.
 */
export async function settleTemporaryTables(
  { databases, log }: KeysContext,
  { hostId, database }: TenantDatabase,
  role: string,
): Promise<void> {
  const settle = () =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
      endingBlockers(databases, session, () => session.query('select cartage.settle_temporary($1)', [role])),
    )
  await settle().catch((error: unknown) => {
    log.warn(
      { err: error, role },
      'the right of a key to make temporary tables is not changed yet: trying again',
    )
    void untilFree({ log, role }, settle)
  })
}

/** Repairs now and then, in one process: it asks every database. */
export async function keepTemporaryTables(context: KeysContext): Promise<void> {
  if (await takeTemporaryLook(context.databases.control, lookEveryMs)) await repairTemporaryTables(context)
}

const lookEveryMs = 3_600_000

/**
 * Settles rights that a process has left behind: it ended after it had changed the grants of a key, or before a retry.
 * Returns the roles. One query in each database; a host that does not answer is skipped until the next time.
 */
export async function repairTemporaryTables(context: KeysContext): Promise<readonly string[]> {
  const { databases, log } = context
  const settled: string[] = []
  for (const { id: hostId } of databases.hosts.all()) {
    for (const database of await servedDatabases(databases.control, hostId)) {
      try {
        const roles = await unsettledRoles(context, hostId, database)
        for (const role of roles) await settleTemporaryTables(context, { hostId, database }, role)
        settled.push(...roles)
      } catch (error) {
        log.warn({ err: error, database }, 'the rights of keys to make temporary tables are not repaired')
        if (isOutOfReach(error)) break
      }
    }
  }
  return settled
}

/** Keys that write and may not make temporary tables, or the other way round. As in `cartage.settle_temporary`. */
async function unsettledRoles(
  { databases }: KeysContext,
  hostId: number,
  database: string,
): Promise<readonly string[]> {
  const { rows } = await databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
    session.query<{ role: string }>(
      `with holder as (
         select held.grantee from pg_catalog.pg_database, pg_catalog.aclexplode(datacl) held
         where datname = pg_catalog.current_database() and held.privilege_type = 'TEMPORARY'
       ), maker as (
         select held.grantee from pg_catalog.pg_namespace, cartage.privileges(nspacl) held
         where held.privilege = 'create'
       )
       select key.role_name as role
       from cartage.roles key join pg_catalog.pg_roles role on role.rolname = key.role_name
       where key.key_type = 'regular' and (role.oid in (select grantee from holder)) <> (
         role.oid in (select grantee from maker) or exists (
           select from cartage.grants g
           where g.role_name = key.role_name and g.permissions && '{insert,update,delete}'))`,
    ),
  )
  return rows.map(({ role }) => role)
}
