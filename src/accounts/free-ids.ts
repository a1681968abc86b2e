import type { ClientBase } from 'pg'
import type { Installation } from '../hosts/installation.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { masterRoleName, organizationDatabaseName } from '../postgres/tenant-names.ts'

/**
 * After a restore of the control database ids repeat: skip any whose role or database still exists on the host. It
 * belongs to an account that the control database has lost, and the cleanup of a failed creation would remove it by its
 * name.
 */
export async function nextFreeId(
  installation: Installation,
  tx: ClientBase,
  table: AccountTable,
  hostId: number,
): Promise<number> {
  for (;;) {
    const [id] = await nextFreeIds(installation, tx, table, hostId, 1)
    if (id !== undefined) return id
  }
}

/** Returns up to `count` ids. */
export async function nextFreeIds(
  { databases, namespace }: Installation,
  tx: ClientBase,
  table: AccountTable,
  hostId: number,
  count: number,
): Promise<readonly number[]> {
  const { rows } = await tx.query<{ id: number }>(
    `select nextval('cartage.${table}_id_seq')::integer as id from generate_series(1, $1)`,
    [count],
  )
  const names = new Map(rows.map(({ id }) => [nameOf[table](namespace, id), id]))
  const taken = await readNames(databases, hostId, takenNames, [...names.keys()])
  for (const name of taken) names.delete(name)
  return [...names.values()]
}

/** True if the roles of a spare member can log in: a user created after the restored state owns them. */
export async function isTaken(
  { databases, namespace }: Installation,
  hostId: number,
  userId: number,
): Promise<boolean> {
  const names = await readNames(databases, hostId, loginNames, [masterRoleName(namespace, userId)])
  return names.length > 0
}

type AccountTable = 'users' | 'organizations'
const nameOf = { users: masterRoleName, organizations: organizationDatabaseName }

const loginNames =
  'select rolname::text as name from pg_catalog.pg_roles where rolname = any ($1) and rolcanlogin'
const takenNames = `
  select rolname::text as name from pg_catalog.pg_roles where rolname = any ($1)
  union select datname from pg_catalog.pg_database where datname = any ($1)`

/** With a short timeout: a transaction on the control database waits for it. */
async function readNames(
  { admin, hosts }: Installation['databases'],
  hostId: number,
  text: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const answer = admin.use(adminTarget(hosts, hostId), (session) =>
    session.query<{ name: string }>(text, [names]),
  )
  return (await answerWithin(patienceMs, answer)).rows.map(({ name }) => name)
}

const patienceMs = 5_000
