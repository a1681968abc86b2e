import type { Account } from '../auth/account.ts'
import { quoteName, quoteQualified } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { askCatalogAsMaster, queryAsMaster } from '../statements/ask-catalog.ts'
import { retry } from '../waiting/retry.ts'

/**
 * Makes a table of the account's schema readable without a key, for the operator: with the rights of the master role, on
 * a session of the administrator, so that the database does not note it as the user's deed.
 */
export async function shareTable(databases: Databases, account: Account, table: string): Promise<void> {
  const { hostId, database, masterRole } = account
  const role = quoteName(masterRole)
  const sql = `begin; set local role ${role}; ${shareStatement(account, table)}; commit`
  await changing(table, () =>
    databases.admin.use(adminTarget(databases.hosts, hostId, database), (session) => session.query(sql)),
  )
}

export const shareStatement = (account: Account, table: string) =>
  `grant select on ${quoteQualified(account.schema, table)} to ${quoteName(account.publicRole)}`

/**
 * Makes it private again, even if it, or some of its columns or partitions, were granted to PUBLIC. Keys that were
 * granted the table keep it.
 */
export async function unshareTable(databases: Databases, account: Account, table: string): Promise<void> {
  await asMaster(databases, account, table, await unshareStatement(databases, account, table))
}

export async function unshareStatement(
  databases: Databases,
  account: Account,
  table: string,
): Promise<string> {
  const name = quoteQualified(account.schema, table)
  const names = [name, ...(await partitionsOf(databases, account, table))].join(', ')
  return `revoke select on ${names} from ${quoteName(account.publicRole)}, public`
}

async function partitionsOf(databases: Databases, account: Account, table: string): Promise<string[]> {
  const values = [account.schema, table]
  const rows = await askCatalogAsMaster<PartitionRow>(databases, account, partitionsSql, values)
  return rows.map(({ schema, name }) => quoteQualified(schema, name))
}

/** Whether the table, a column or a partition of it can be read without a key. */
export async function isShared(databases: Databases, account: Account, table: string): Promise<boolean> {
  const values = [account.schema, table, account.publicRole]
  return (await askCatalogAsMaster<object>(databases, account, sharedSql, values)).length > 0
}

const sharedSql = `
  with recursive part (relation) as (
    select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relname = $2
    union all
    select i.inhrelid from part join pg_catalog.pg_inherits i on i.inhparent = part.relation
  )
  select from part where pg_catalog.has_any_column_privilege($3, relation, 'select') limit 1`

type PartitionRow = { schema: string; name: string }

const partitionsSql = `
  with recursive part (relation) as (
    select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relname = $2 and c.relkind = 'p'
    union all
    select i.inhrelid from part join pg_catalog.pg_inherits i on i.inhparent = part.relation
  )
  select n.nspname as schema, c.relname as name
  from part join pg_catalog.pg_class c on c.oid = relation join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where (n.nspname, c.relname) is distinct from ($1, $2)`

const asMaster = (databases: Databases, account: Account, table: string, sql: string) =>
  changing(table, () => queryAsMaster(databases, account, sql))

async function changing(table: string, change: () => Promise<unknown>): Promise<void> {
  try {
    // Another session may change the privileges of the table at the same moment.
    const isTransient = (error: unknown) => hasSqlstate(error, sqlstate.internalError)
    await retry(change, { attempts: 6, isTransient })
  } catch (error) {
    if (hasSqlstate(error, sqlstate.undefinedTable)) throw errors.notFound(`Table '${table}'`)
    throw error
  }
}
