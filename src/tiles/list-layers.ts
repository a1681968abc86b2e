import type { Principal } from '../auth/account.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { askCatalogAs } from '../statements/ask-catalog.ts'
import type { TimeLimits } from '../statements/time-limits.ts'

export type ListedLayer = Readonly<{ schema: string; name: string; geometry_type: string }>

/** Tables, views, materialized views and foreign tables with a geometry that the key may read. */
export function listLayers(
  databases: Databases,
  principal: Principal,
  limits: TimeLimits,
  gone: AbortLike,
): Promise<readonly ListedLayer[]> {
  return askCatalogAs<ListedLayer>(databases, principal, { limits, gone }, listingSql, [
    principal.account.schema,
  ])
}

const listingSql = `
  select n.nspname as schema, c.relname as name, geometry.type as geometry_type
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select upper(postgis.postgis_typmod_type(base.base_modifier)) as type
    from pg_attribute a, cartodb._CDB_BaseType(a.atttypid, a.atttypmod) base
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and base.base = 'postgis.geometry'::regtype
      and has_column_privilege(c.oid, a.attnum, 'SELECT')
    order by a.attname <> 'the_geom_webmercator', a.attnum limit 1
  ) geometry
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and n.nspname not in ('pg_catalog', 'information_schema', 'cartodb', 'cartage', 'postgis') and n.nspname !~ '^pg_'
    and has_schema_privilege(n.oid, 'USAGE')
  order by n.nspname <> $1, n.nspname, c.relname`
