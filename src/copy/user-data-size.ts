import type { Account } from '../auth/account.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

/** Bytes that the account stores. */
export async function userDataSize(
  { admin, hosts }: Databases,
  { hostId, database, schema }: Account,
): Promise<number> {
  const { rows } = await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query<{ bytes: string }>('select cartodb.cdb_userdatasize($1) as bytes', [schema]),
  )
  return Number(rows[0]!.bytes)
}
