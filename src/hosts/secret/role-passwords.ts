import { passwordClause } from '../../postgres/password-clause.ts'
import { quoteIdentifier } from '../../postgres/quote.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { tenantRolePattern } from '../../postgres/tenant-names.ts'
import { hasOldPasswords, markPasswordsMoved } from '../host-store.ts'
import type { Installation } from '../installation.ts'

/**
 * Gives the roles of a host the passwords that follow from a rotated secret, so that the old ones end here and not at
 * the next login of each role. The rotation marks the host's row; the next start goes on if this is cut off.
 */
export async function moveRolePasswords(installation: Installation, hostId: number): Promise<number> {
  const { control, admin, hosts } = installation.databases
  if (!(await hasOldPasswords(control, hostId))) return 0
  const count = await admin.use(adminTarget(hosts, hostId), async (session) => {
    const { rows } = await session.query<{ rolname: string }>(
      'select rolname from pg_catalog.pg_roles where rolname ~ $1',
      [tenantRolePattern(installation.namespace)],
    )
    for (const { rolname } of rows) {
      const password = passwordClause(installation.secrets, rolname)
      await session.query(`alter role ${quoteIdentifier(rolname)} ${password}`)
    }
    return rows.length
  })
  await markPasswordsMoved(control, hostId)
  return count
}
