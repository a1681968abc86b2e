import type { Principal } from '../auth/account.ts'
import { quoteQualified } from '../contract/text/quote.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import { askCatalogAs } from '../statements/ask-catalog.ts'
import { catalogLimits } from '../statements/time-limits.ts'
import type { TableInfo, Tables } from './list-tables.ts'

/** Kinds of geometry among the first rows of a table, such as `ST_Point`. None if the key may not read them. */
export async function geometryTypes(
  { databases, config }: Tables,
  principal: Principal,
  { schema, name, hasGeometry }: TableInfo,
  gone: AbortLike,
): Promise<readonly string[]> {
  if (!hasGeometry) return []
  const table = quoteQualified(schema, name)
  try {
    const rows = await askCatalogAs<{ type: string }>(
      databases,
      principal,
      { limits: catalogLimits(config, principal), gone },
      `select distinct postgis.ST_GeometryType(the_geom) as type
       from (select the_geom from ${table} where the_geom is not null limit 1000) first_rows order by 1`,
      [],
    )
    return rows.map(({ type }) => type)
  } catch (error) {
    // The column is no geometry, or the key may not read it.
    if (hasSqlstate(error, sqlstate.insufficientPrivilege, sqlstate.undefinedFunction)) return []
    throw error
  }
}
