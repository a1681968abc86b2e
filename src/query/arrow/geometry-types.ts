import { LRUCache } from 'lru-cache'
import { type Principal, sessionTargetOf } from '../../auth/account.ts'
import type { Databases } from '../../postgres/databases.ts'
import { askCatalogAs } from '../../statements/ask-catalog.ts'
import type { StatementOptions } from '../../statements/run-as.ts'

/** The OIDs that PostGIS has in a database. */
export type GeometryOids = Readonly<{ geometry: number; geography: number }>

/** The OIDs of PostGIS in each database, asked once: a schema comes before the rows, and must name them. */
export class GeometryTypes {
  readonly #known = new LRUCache<string, GeometryOids>({ max: 10_000 })

  async find(
    databases: Databases,
    principal: Principal,
    options: Pick<StatementOptions, 'limits' | 'gone'>,
  ): Promise<GeometryOids> {
    const { hostId, database } = sessionTargetOf(principal)
    const place = `${hostId} ${database}`
    const known = this.#known.get(place)
    if (known) return known
    const rows = await askCatalogAs<{ oid: number; name: string }>(databases, principal, options, oidsSql, [])
    const oidOf = (name: string) => rows.find((row) => row.name === name)?.oid ?? 0
    const found = { geometry: oidOf('geometry'), geography: oidOf('geography') }
    this.#known.set(place, found)
    return found
  }
}

const oidsSql = `
select t.oid, typname as name from pg_type t join pg_namespace n on n.oid = typnamespace
where nspname = 'postgis' and typname in ('geometry', 'geography')`
