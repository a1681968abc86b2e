import type { DatabaseError } from 'pg'
import type { Principal } from '../auth/account.ts'
import { quoteName, quoteQualified } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { sqlError } from '../postgres/wire/wire-error.ts'
import { askCatalogAs } from '../statements/ask-catalog.ts'
import { runAs } from '../statements/run-as.ts'
import { catalogLimits } from '../statements/time-limits.ts'
import { retry } from '../waiting/retry.ts'
import type { Tables } from './list-tables.ts'
import { shareStatement, unshareStatement } from './share-table.ts'

export type TableChange = Readonly<{ isPublic?: boolean | undefined; name?: string | undefined }>

/** Renames a table, makes it public or private: all of it or nothing, as the role of the key. */
export async function changeTable(
  tables: Tables,
  principal: Principal,
  name: string,
  change: TableChange,
  gone: AbortLike,
): Promise<void> {
  const { databases } = tables
  const { account } = principal
  const statements: string[] = []
  if (change.isPublic === true) statements.push(shareStatement(account, name))
  if (change.isPublic === false) statements.push(await unshareStatement(databases, account, name))
  if (change.name !== undefined && change.name !== name)
    statements.push(`alter table ${quoteQualified(account.schema, name)} rename to ${quoteName(change.name)}`)
  if (statements.length > 0) await runAsOwner(tables, principal, name, statements.join('; '), gone)
}

/** Drops a table, view or foreign table. Nothing that depends on it is dropped with it. */
export async function dropTable(
  tables: Tables,
  principal: Principal,
  name: string,
  gone: AbortLike,
): Promise<void> {
  const target = quoteQualified(principal.account.schema, name)
  const drop = (kind: string) => `drop ${dropped[kind] ?? 'table'} ${target}`
  await runAsOwner(tables, principal, name, drop, gone)
}

const dropped: Readonly<Record<string, string>> = {
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
}

/** `text`: the statement, for the kind of relation that the table is. */
async function runAsOwner(
  { databases, config }: Tables,
  principal: Principal,
  table: string,
  text: string | ((kind: string) => string),
  gone: AbortLike,
): Promise<void> {
  const { account, key } = principal
  const limits = catalogLimits(config, principal)
  const [found] = await askCatalogAs<{ kind: string; owns: boolean }>(
    databases,
    principal,
    { limits, gone },
    `select c.relkind as kind, pg_catalog.pg_has_role($3, c.relowner, 'USAGE') as owns
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p', 'v', 'm', 'f')`,
    [account.schema, table, key.role],
  )
  if (!found) throw errors.notFound(`Table '${table}'`)
  // PostgreSQL only warns if a role grants what it may not.
  if (!found.owns) throw errors.permissionDenied()
  const statement = typeof text === 'string' ? text : text(found.kind)
  const run = () =>
    runAs(databases, principal, { limits, gone, kind: 'query' }, (one) =>
      one.watch((session) => session.query(statement)),
    )
  // Another session may change the privileges of the table at the same moment.
  const isTransient = (error: unknown) => hasSqlstate(error, sqlstate.internalError)
  await retry(run, { attempts: 6, isTransient }).catch((error: unknown) => {
    throw clientError(error, table)
  })
}

function clientError(error: unknown, table: string): unknown {
  const { severity, code, message, detail } = error as Partial<DatabaseError>
  if (severity === undefined || code === undefined || message === undefined) return error
  if (code === sqlstate.undefinedTable) return errors.notFound(`Table '${table}'`)
  const text = code === sqlstate.dependentObjectsStillExist && detail ? `${message}: ${detail}` : message
  return sqlError({ severity, sqlstate: code, message: text, detail }, error)
}
