import type { Secrets } from '../secrets.ts'
import type { Hosts } from './hosts.ts'
import { quoteIdentifier, quoteLiteral } from './quote.ts'
import type { RolePools } from './role-pools.ts'
import { scramVerifier } from './scram-verifier.ts'
import { adminTarget, type SessionTarget } from './session-target.ts'

/**
 * A role may change its own password and settings, also to ones that block its login (local_preload_libraries).
 * Puts back the derived password and forgets the settings.
 */
export async function repairLogin(
  admin: RolePools,
  hosts: Hosts,
  secrets: Secrets,
  target: SessionTarget,
): Promise<void> {
  const role = quoteIdentifier(target.role)
  const verifier = quoteLiteral(scramVerifier(secrets.rolePassword(target.role)))
  await admin.use(adminTarget(hosts, target.hostId), async (session) => {
    await session.query(
      `alter role ${role} with login password ${verifier} connection limit -1 valid until 'infinity'`,
    )
    await session.query(`alter role ${role} reset all`)
    await session.query(`alter role ${role} in database ${quoteIdentifier(target.database)} reset all`)
  })
}
