import type { FieldDef } from 'pg'
import { quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import type { Property, PropertyKind } from '../tiles/tile-layer.ts'
import type { DrawnLayer } from '../tiles/tile-sql.ts'
import type { TileView } from './layer-sql.ts'
import type { LayerSource } from './map-config.ts'

/** What the SQL of a layer answers, as the role of a session sees it. */
export type LayerPlan = Readonly<{
  /** Its rows at a place. */
  rows: (view: TileView) => DrawnLayer
  properties: readonly Property[]
  /** Those that `dates_as_numbers` has made numbers. */
  dates: readonly string[]
  /** All its columns with their types, as the SQL endpoint tells them. */
  types: Readonly<Record<string, string>>
}>

/** A statement that answers the columns of a layer and no row. */
export const columnsSql = ({ sql }: Pick<LayerSource, 'sql'>, view: TileView) =>
  `select * from ${sql(view)} as t limit 0`

/** `fields`: what `columnsSql` has answered. */
export async function planLayer(
  session: Session,
  source: LayerSource,
  fields: readonly FieldDef[],
): Promise<LayerPlan> {
  const columns = (await readColumns(session, fields)).filter(isOnly)
  const geometry = columns.find(({ name, kind }) => name === source.geomColumn && kind === 'geometry')
  if (!geometry) throw errors.mapInvalid(noGeometry(source.geomColumn, columns))
  const properties = columns.filter((column): column is Column & Property => isShown(column.kind))
  const dates = source.datesAsNumbers
    ? properties.filter(({ kind }) => kind === 'date').map(({ name }) => name)
    : []
  const srid = geometry.srid || source.srid
  const layer = {
    kind: 'q',
    geometry: {
      name: geometry.name,
      srid,
      type: geometry.srid === 0 && srid !== 3857 ? 'GEOMETRY' : geometry.type,
    },
    hasId: properties.some(({ name, kind }) => name === 'cartodb_id' && kind === 'integer'),
  }
  const isStated = geometry.srid !== 0 || srid === 3857
  const shown = [geometry, ...properties].map(({ name }) =>
    columnOf(name, dates, isStated ? undefined : geometry.name, srid),
  )
  const isPlain = isStated && dates.length === 0
  return {
    rows: (view) => ({
      ...layer,
      from: isPlain ? source.sql(view) : `(select ${shown.join(', ')} from ${source.sql(view)} as q)`,
    }),
    properties: properties.map(({ name, kind }) => ({ name, kind: dates.includes(name) ? 'float' : kind })),
    dates,
    types: Object.fromEntries(
      columns.map(({ name, kind }) => [name, dates.includes(name) ? 'number' : typeOf(kind)]),
    ),
  }
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

type ColumnKind = PropertyKind | 'geometry' | 'other'
type Column = Readonly<{ name: string; kind: ColumnKind; srid: number; type: string }>

/** Two columns of one name cannot be told apart. */
const isOnly = ({ name }: Column, _at: number, all: readonly Column[]) =>
  all.filter((other) => other.name === name).length === 1

const isShown = (kind: ColumnKind): kind is PropertyKind => kind !== 'geometry' && kind !== 'other'

function noGeometry(name: string, columns: readonly Column[]): string {
  const known = columns.some((column) => column.name === name)
  return known ? `column "${name}" is not a geometry` : `column "${name}" does not exist`
}

function columnOf(
  name: string,
  dates: readonly string[],
  unstated: string | undefined,
  srid: number,
): string {
  const quoted = quoteName(name)
  if (dates.includes(name)) return `pg_catalog.date_part('epoch', q.${quoted}) as ${quoted}`
  return name === unstated ? `postgis.st_setsrid(q.${quoted}, ${srid}) as ${quoted}` : `q.${quoted}`
}

async function readColumns(session: Session, fields: readonly FieldDef[]): Promise<readonly Column[]> {
  const unknown = fields.filter(({ dataTypeID }) => !kindsByOid.has(dataTypeID))
  const found = new Map<string, Found>()
  if (unknown.length > 0) {
    const { rows } = await session.query<Found & { oid: number; modifier: number }>(typesSql, [
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

type Found = Readonly<{ kind: ColumnKind; srid: number; type: string }>

/** The kinds of PostgreSQL's own types by their numbers. */
const kindsByOid: ReadonlyMap<number, ColumnKind> = new Map<number, ColumnKind>([
  [16, 'boolean'],
  ...[20, 21, 23].map((oid): [number, ColumnKind] => [oid, 'integer']),
  ...[700, 701].map((oid): [number, ColumnKind] => [oid, 'float']),
  [1700, 'numeric'],
  [2950, 'uuid'],
  ...[18, 19, 25, 1042, 1043].map((oid): [number, ColumnKind] => [oid, 'text']),
  ...[1082, 1083, 1114, 1184, 1266].map((oid): [number, ColumnKind] => [oid, 'date']),
])

const typesSql = `
  select f.oid, f.modifier, case when k.is_geometry then 'geometry' when t.typtype operator(pg_catalog.=) 'e' then 'enum'
      when t.typtype operator(pg_catalog.=) 'b' and t.typcategory operator(pg_catalog.=) 'S' then 'text' else 'other' end as kind,
    case when k.is_geometry then postgis.postgis_typmod_srid(f.modifier) else 0 end as srid,
    case when k.is_geometry then pg_catalog.upper(postgis.postgis_typmod_type(f.modifier)) else '' end as type
  from (select pg_catalog.unnest($1::pg_catalog.oid[]) as oid, pg_catalog.unnest($2::pg_catalog.int4[]) as modifier) as f
  join pg_catalog.pg_type as t on t.oid operator(pg_catalog.=) f.oid
  cross join lateral (select t.oid operator(pg_catalog.=) 'postgis.geometry'::pg_catalog.regtype as is_geometry) as k`

/** As the SQL endpoint names them. */
function typeOf(kind: ColumnKind): string {
  if (kind === 'integer' || kind === 'float' || kind === 'numeric') return 'number'
  if (kind === 'text' || kind === 'enum' || kind === 'uuid') return 'string'
  return kind
}
