import type { FieldDef } from 'pg'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import type { PropertyKind } from '../tiles/tile-layer.ts'
import type { LayerSql, TileView } from './layer-sql.ts'

/** A statement that answers the columns of a layer and no row. */
export const columnsSql = (sql: LayerSql, view: TileView) => `select * from ${sql(view)} as t limit 0`

export type MapColumnKind = PropertyKind | 'geometry' | 'other'
export type MapColumn = Readonly<{ name: string; kind: MapColumnKind; srid: number; type: string }>

/** The kind of each column. */
export async function kindsOf(
  session: Session,
  fields: readonly FieldDef[],
): Promise<ReadonlyMap<string, MapColumnKind>> {
  const columns = await readColumns(session, fields)
  return new Map(columns.map(({ name, kind }) => [name, kind]))
}

/** The column to draw of a query that names none: as of a table. */
export async function findGeometry(
  session: Session,
  fields: readonly FieldDef[],
): Promise<Readonly<{ name: string; srid: number }>> {
  const geometries = (await readColumns(session, fields)).filter(({ kind }) => kind === 'geometry')
  const found = geometries.find(({ name }) => name === 'the_geom_webmercator') ?? geometries[0]
  if (!found) throw errors.mapInvalid('The query has no geometry')
  const { name, srid } = found
  return { name, srid: srid || (name === 'the_geom_webmercator' ? 3857 : 4326) }
}

/** `fields`: what `columnsSql` has answered. */
export async function readColumns(
  session: Session,
  fields: readonly FieldDef[],
): Promise<readonly MapColumn[]> {
  const unknown = fields.filter(({ dataTypeID }) => !kindsByOid.has(dataTypeID))
  const found = new Map<string, FoundType>()
  if (unknown.length > 0) {
    const { rows } = await session.query<FoundType & { oid: number; modifier: number }>(typesSql, [
      unknown.map(({ dataTypeID }) => dataTypeID),
      unknown.map(({ dataTypeModifier }) => dataTypeModifier),
    ])
    for (const row of rows) found.set(`${row.oid} ${row.modifier}`, row)
  }
  return fields.map(({ name, dataTypeID, dataTypeModifier }) => {
    const { kind, srid, type } = found.get(`${dataTypeID} ${dataTypeModifier}`) ?? {
      kind: kindsByOid.get(dataTypeID) ?? ('other' as const),
      srid: 0,
      type: '',
    }
    return { name, kind, srid, type }
  })
}

type FoundType = Readonly<{ kind: MapColumnKind; srid: number; type: string }>

/** The kinds of PostgreSQL's own types by their numbers. */
const kindsByOid: ReadonlyMap<number, MapColumnKind> = new Map<number, MapColumnKind>([
  [16, 'boolean'],
  ...[20, 21, 23].map((oid): [number, MapColumnKind] => [oid, 'integer']),
  ...[700, 701].map((oid): [number, MapColumnKind] => [oid, 'float']),
  [1700, 'numeric'],
  [2950, 'uuid'],
  ...[18, 19, 25, 1042, 1043].map((oid): [number, MapColumnKind] => [oid, 'text']),
  ...[1082, 1083, 1114, 1184, 1266].map((oid): [number, MapColumnKind] => [oid, 'date']),
])

const typesSql = `
  select f.oid, f.modifier, case when k.is_geometry then 'geometry' when t.typtype operator(pg_catalog.=) 'e' then 'enum'
      when t.typtype operator(pg_catalog.=) 'b' and t.typcategory operator(pg_catalog.=) 'S' then 'text' else 'other' end as kind,
    case when k.is_geometry then postgis.postgis_typmod_srid(f.modifier) else 0 end as srid,
    case when k.is_geometry then pg_catalog.upper(postgis.postgis_typmod_type(f.modifier)) else '' end as type
  from (select pg_catalog.unnest($1::pg_catalog.oid[]) as oid, pg_catalog.unnest($2::pg_catalog.int4[]) as modifier) as f
  join pg_catalog.pg_type as t on t.oid operator(pg_catalog.=) f.oid
  cross join lateral (select t.oid operator(pg_catalog.=) 'postgis.geometry'::pg_catalog.regtype as is_geometry) as k`
