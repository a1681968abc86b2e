import { quoteName } from '../../contract/text/quote.ts'
import type { Databases } from '../../postgres/databases.ts'
import { dropRolesEverywhere } from '../../postgres/drop-owned.ts'
import { passwordClause } from '../../postgres/password-clause.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import type { Secrets } from '../../secrets.ts'
import type { Household } from './household.ts'

/**
 * The role that reads an account while it moves. It has the rights of all members' roles and sees rows that policies
 * hide from their owners. It only reads tables and catalogs, which runs no code of a tenant, and is no superuser.
 */
export const moverOf = (database: string) => `${database}_mover`

/** Drops and creates the role: an interrupted move may have left one. */
export async function createMover(
  databases: Databases,
  secrets: Secrets,
  hostId: number,
  { database, members }: Household,
): Promise<void> {
  const mover = moverOf(database)
  const name = quoteName(mover)
  const masters = members.map(({ masterRole }) => quoteName(masterRole)).join(', ')
  await dropMover(databases, hostId, database)
  await databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) =>
    session.query(
      `create role ${name} login inherit nosuperuser nocreatedb nocreaterole noreplication bypassrls
         ${passwordClause(secrets, mover)};
       grant ${masters} to ${name};
       ${members[0]?.organization ? readingCode(name) : ''}`,
    ),
  )
}

/** Members of an organization cannot read each other's code (`cartage.hide_code`). */
const readingCode = (name: string) => `
  grant select on pg_catalog.pg_proc to ${name};
  grant execute on function pg_catalog.pg_get_functiondef(oid), pg_catalog.pg_get_function_sqlbody(oid) to ${name}`

/** Any tenant of the host may have named it in a GRANT. */
export async function dropMover(databases: Databases, hostId: number, database: string): Promise<void> {
  const mover = moverOf(database)
  await databases.job.closeRole(hostId, mover)
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    await session.query(
      'select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where usename = $1',
      [mover],
    )
    await dropRolesEverywhere(databases, session, [mover])
  })
}
