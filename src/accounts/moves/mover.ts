import type { Databases } from '../../postgres/databases.ts'
import { dropOwnedElsewhere } from '../../postgres/drop-owned.ts'
import { endingBlockers } from '../../postgres/end-blockers.ts'
import { passwordClause } from '../../postgres/password-clause.ts'
import { quoteIdentifier } from '../../postgres/quote.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import type { Secrets } from '../../secrets.ts'

/**
 * The role that reads an account while it moves. It has the rights of the user's roles and sees rows that policies hide
 * from their owners. It is no superuser, so no code of the tenant gets more than the tenant has.
 */
export const moverOf = (masterRole: string) => `${masterRole}_mover`

/** Made anew: one may be left of a move that was cut off. */
export async function createMover(
  databases: Databases,
  secrets: Secrets,
  hostId: number,
  masterRole: string,
): Promise<void> {
  const mover = moverOf(masterRole)
  const name = quoteIdentifier(mover)
  await dropMover(databases, hostId, masterRole)
  await databases.admin.use(adminTarget(databases.hosts, hostId), (session) =>
    session.query(
      `create role ${name} login inherit nosuperuser nocreatedb nocreaterole noreplication bypassrls
         ${passwordClause(secrets, mover)};
       grant ${quoteIdentifier(masterRole)} to ${name}`,
    ),
  )
}

/** Any tenant of the host may have named it in a GRANT. */
export async function dropMover(databases: Databases, hostId: number, masterRole: string): Promise<void> {
  const mover = moverOf(masterRole)
  await databases.job.closeRole(hostId, mover)
  await databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    await session.query(
      'select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where usename = $1',
      [mover],
    )
    await dropOwnedElsewhere(databases, session, [mover])
    await endingBlockers(databases, session, () =>
      session.query(`drop role if exists ${quoteIdentifier(mover)}`),
    )
  })
}
