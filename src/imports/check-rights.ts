import type { Principal } from '../auth/account.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { askCatalogAsMaster } from '../statements/ask-catalog.ts'
import type { ImportSettings } from './import-record.ts'

/** An import is a CREATE TABLE and a COPY: the key needs what those need. */
export async function checkRights(databases: Databases, { account, key }: Principal): Promise<void> {
  if (key.type === 'default') throw errors.permissionDenied()
  if (!key.apis.includes('sql')) throw errors.apiForbidden()
  if (key.type === 'master') return
  const rows = await askCatalogAsMaster<{ may: boolean }>(
    databases,
    account,
    `select pg_catalog.has_schema_privilege($1, $2, 'CREATE') as may`,
    [key.role, account.schema],
  )
  if (!rows[0]?.may) throw errors.permissionDenied()
}

/** A table is overwritten by its owner only. */
export async function checkOwnership(
  databases: Databases,
  { account, key }: Principal,
  table: string,
  { collision }: ImportSettings,
): Promise<void> {
  if (collision !== 'overwrite') return
  const rows = await askCatalogAsMaster<{ owns: boolean }>(
    databases,
    account,
    `select pg_catalog.pg_has_role($3, c.relowner, 'USAGE') as owns
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relname = $2`,
    [account.schema, table, key.role],
  )
  if (rows[0]?.owns === false) throw errors.permissionDenied()
}
