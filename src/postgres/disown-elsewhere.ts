import type { Databases } from './databases.ts'
import { quoteIdentifier } from './quote.ts'
import { adminTarget } from './session-target.ts'

/**
 * Takes a role out of every database of its host but its own, so that it can be dropped. Roles belong to the whole
 * cluster: any tenant can name another's role in a GRANT, and nobody else could undo that.
 */
export async function disownElsewhere(
  databases: Databases,
  hostId: number,
  home: string,
  role: string,
): Promise<void> {
  const { admin, hosts } = databases
  const elsewhere = await admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<{ datname: string }>(
      `select distinct datname
       from pg_catalog.pg_shdepend
       join pg_catalog.pg_authid role on refclassid = 'pg_catalog.pg_authid'::regclass and refobjid = role.oid
       join pg_catalog.pg_database database on database.oid = dbid
       where rolname = $1 and datname <> $2`,
      [role, home],
    ),
  )
  for (const { datname } of elsewhere.rows) {
    await admin.use(adminTarget(hosts, hostId, datname), (session) =>
      session.query(`drop owned by ${quoteIdentifier(role)} cascade`),
    )
  }
}
