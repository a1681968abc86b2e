import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

export type Place = Readonly<{ hostId: number; database: string }>

/**
 * Whether a role of that name, or one that it begins, owns a table or the like in the database. What is half-made has none,
 * as nobody could log in yet. But a control database that was set back to the moment of a creation says half-made of an
 * account that has been in use since.
 */
export async function isInUse({ admin, hosts }: Databases, place: Place, role: string): Promise<boolean> {
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
