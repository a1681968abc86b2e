import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'

/** Bytes stored by an account. */
export async function userDataSize(
  { admin, hosts }: Databases,
  { hostId, database, schema }: Readonly<{ hostId: number; database: string; schema: string }>,
): Promise<number> {
  const { rows } = await admin.use(adminTarget(hosts, hostId, database), (session) =>
    session.query<{ bytes: string }>('select cartodb.cdb_userdatasize($1) as bytes', [schema]),
  )
  return Number(rows[0]!.bytes)
}
