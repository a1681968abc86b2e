import { tenantRoleAttributes } from '../accounts/tenant-roles.ts'
import type { Account } from '../auth/account.ts'
import { quoteName } from '../contract/text/quote.ts'
import { passwordClause } from '../postgres/password-clause.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { onConnection } from '../postgres/transaction.ts'
import type { WantedGrants } from './grants.ts'
import type { KeysContext } from './key.ts'
import { lockTimeout, retryConflicts } from './retry-conflicts.ts'

/** The parts of the requested grants that the user does not have and so cannot give. */
export type GrantFault = 'tables' | 'schemas'

/** Creates the role with all its grants in one transaction, or returns the reasons why not; then there is no role. */
export function createKeyRole(
  { databases, secrets }: KeysContext,
  account: Account,
  role: string,
  { tables, schemas, services }: WantedGrants,
): Promise<readonly GrantFault[]> {
  const password = passwordClause(secrets, role)
  const wanted = [JSON.stringify(tables), JSON.stringify(schemas)]
  const target = adminTarget(databases.hosts, account.hostId, account.database)
  const attempt = () =>
    databases.admin.use(target, (session) =>
      onConnection(session.client, async (tx) => {
        await tx.query(lockTimeout)
        const { rows } = await tx.query<{ faults: GrantFault[] }>(
          'select cartage.refused_grants($1, $2, $3) as faults',
          [account.username, ...wanted],
        )
        const { faults } = rows[0]!
        if (faults.length > 0) return faults
        await tx.query(`create role ${quoteName(role)} ${tenantRoleAttributes} ${password}`)
        await tx.query('select cartage.admit_key($1, $2, $3, $4, $5)', [
          account.username,
          role,
          services,
          ...wanted,
        ])
        return []
      }),
    )
  return retryConflicts(attempt)
}
