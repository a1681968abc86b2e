import type { Databases } from './databases.ts'
import { quoteIdentifier } from './quote.ts'
import type { Session } from './session.ts'
import { adminTarget } from './session-target.ts'

/**
 * Takes roles out of every database of their host but their home, so that they can be dropped. Roles belong to the
 * whole cluster: any tenant can name another's role in a GRANT, and nobody else could undo that.
 */
export async function dropOwnedElsewhere(
  { admin, hosts }: Databases,
  session: Session,
  roles: readonly string[],
  home?: string,
): Promise<void> {
  const { rows } = await session.query<{ datname: string; roles: string[] }>(
    `select datname, pg_catalog.array_agg(distinct rolname::text) as roles
     from pg_catalog.pg_shdepend
     join pg_catalog.pg_authid role on refclassid = 'pg_catalog.pg_authid'::regclass and refobjid = role.oid
     join pg_catalog.pg_database database on database.oid = dbid
     where rolname = any($1) and datname is distinct from $2
     group by datname`,
    [roles, home ?? null],
  )
  for (const { datname, roles: mentioned } of rows) {
    await admin.use(adminTarget(hosts, session.target.hostId, datname), (there) =>
      there.query(
        `set lock_timeout = '500ms'; drop owned by ${mentioned.map(quoteIdentifier).join(', ')} cascade`,
      ),
    )
  }
}
