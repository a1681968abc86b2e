import { quoteName } from '../../contract/text/quote.ts'
import { passwordClause } from '../../postgres/password-clause.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import { tenantRolePattern } from '../../postgres/tenant-names.ts'
import { hasOldPasswords, markPasswordsMoved } from '../host-store.ts'
import type { Installation } from '../installation.ts'

/**
 * Gives a host's roles the passwords derived from a rotated secret, so that the old ones end now and not at each role's
 * next login. The rotation marks the host's row; if this is cut off, the next start continues.
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
      await session.query(`alter role ${quoteName(rolname)} ${password}`)
    }
    return rows.length
  })
  await markPasswordsMoved(control, hostId)
  return count
}
