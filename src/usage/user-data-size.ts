import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { TenantDatabase } from '../postgres/tenant-names.ts'

/** Bytes stored by an account. Rejects if PostgreSQL needs longer than `limitMs`. */
export async function userDataSize(
  { admin, hosts }: Databases,
  { hostId, database, schema }: TenantDatabase & Readonly<{ schema: string }>,
  limitMs?: number,
): Promise<number> {
  const { rows } = await admin.use(adminTarget(hosts, hostId, database), async (session) => {
    if (limitMs !== undefined) await session.query(`set statement_timeout = ${limitMs}`)
    return session.query<{ bytes: string }>('select cartodb.cdb_userdatasize($1) as bytes', [schema])
  })
  return Number(rows[0]!.bytes)
}
