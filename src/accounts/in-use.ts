import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { TenantDatabase } from '../postgres/tenant-names.ts'

/**
 * True if the role, or one whose name begins with it, owns a table or the like in the database. A half-made account
 * owns nothing, as it could not log in yet. But a control database restored to the moment of a creation calls an
 * account half-made that has been in use since.
 */
export async function isInUse(
  { admin, hosts }: Databases,
  place: TenantDatabase,
  role: string,
): Promise<boolean> {
  const { hostId, database } = place
  const { rowCount } = await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query('select from pg_catalog.pg_database where datname = $1', [database]),
  )
  if (rowCount === 0) return false
  const { rows } = await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query<{ isInUse: boolean }>(
      `select exists (
         select from pg_catalog.pg_class class join pg_catalog.pg_roles owner on owner.oid = class.relowner
         where owner.rolname = $1 or pg_catalog.starts_with(owner.rolname, $1 || '_')
       ) as "isInUse"`,
      [role],
    ),
  )
  return rows[0]!.isInUse
}
