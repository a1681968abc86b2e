import type { FieldDef } from 'pg'
import { quoteName } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import type { Property, PropertyKind } from '../tiles/tile-layer.ts'
import type { DrawnLayer } from '../tiles/tile-sql.ts'
import { type MapColumn, type MapColumnKind, readColumns } from './columns.ts'
import type { TileView } from './layer-sql.ts'
import type { LayerSource } from './map-config.ts'
import { filteredRows } from './rows-filter.ts'

/** What the SQL of a layer answers, as the role of a session sees it. */
export type LayerPlan = Readonly<{
  /** Its rows at a place. */
  rows: (view: TileView) => DrawnLayer
  properties: readonly Property[]
  /** The columns that `dates_as_numbers` changed to numbers. */
  dates: readonly string[]
  /** All its columns with their types, as the SQL endpoint tells them. */
  types: Readonly<Record<string, string>>
  /** A type that the tenant has made may change without the tables of the query. */
  hasOwnTypes: boolean
}>

/** `fields`: what `columnsSql` has answered. */
export async function planLayer(
  session: Session,
  source: LayerSource,
  fields: readonly FieldDef[],
): Promise<LayerPlan> {
  const read = await readColumns(session, fields)
  const columns = read.filter(isOnly)
  const geometry = columns.find(({ name, kind }) => name === source.geomColumn && kind === 'geometry')
  if (!geometry) throw errors.mapInvalid(noGeometry(source.geomColumn, columns))
  const properties = columns.filter((column): column is MapColumn & Property => isShown(column.kind))
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
  const dateColumns = new Set(columns.filter(({ kind }) => kind === 'date').map(({ name }) => name))
  const rowsAt = (view: TileView) => filteredRows(source.sql(view), source.filters, dateColumns)
  return {
    rows: (view) => ({
      ...layer,
      // No index is on a geometry whose SRID is set here. The OFFSET computes the rows once.
      from: isPlain
        ? rowsAt(view)
        : `(select ${shown.join(', ')} from ${rowsAt(view)} as q${isStated ? '' : ' offset 0'})`,
    }),
    properties: properties.map(({ name, kind }) => ({ name, kind: dates.includes(name) ? 'float' : kind })),
    dates,
    types: Object.fromEntries(
      columns.map(({ name, kind }) => [name, dates.includes(name) ? 'number' : typeOf(kind)]),
    ),
    hasOwnTypes: fields.some(
      ({ dataTypeID }, at) => dataTypeID >= firstOwnOid && read[at]!.kind !== 'geometry',
    ),
  }
}

const firstOwnOid = 16_384

/** Two columns with the same name cannot be distinguished. */
const isOnly = ({ name }: MapColumn, _at: number, all: readonly MapColumn[]) =>
  all.filter((other) => other.name === name).length === 1

const isShown = (kind: MapColumnKind): kind is PropertyKind => kind !== 'geometry' && kind !== 'other'

function noGeometry(name: string, columns: readonly MapColumn[]): string {
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

/** The type names of the SQL endpoint. */
function typeOf(kind: MapColumnKind): string {
  if (kind === 'integer' || kind === 'float' || kind === 'numeric') return 'number'
  if (kind === 'text' || kind === 'enum' || kind === 'uuid') return 'string'
  return kind
}
