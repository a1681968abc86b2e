import { hash } from 'node:crypto'
import { quoteLiteral } from '../contract/text/quote.ts'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'
import type { WireRow } from '../postgres/wire/collected-rows.ts'

export type TableName = Readonly<{ schema: string; name: string }>

export type PropertyKind = 'boolean' | 'integer' | 'float' | 'numeric' | 'text' | 'uuid' | 'enum' | 'date'

export type Property = Readonly<{ name: string; kind: PropertyKind }>

/** `srid` is 0 if the column does not declare one. `type` is as in WKT; GEOMETRY: any. */
export type Geometry = Readonly<{ name: string; srid: number; type: string }>

/** A relation as a layer of tiles, as far as the caller's role may read it. */
export type Layer = TableName &
  Readonly<{
    /** As in pg_class: r, p, v, m or f. */
    kind: string
    geometry: Geometry
    properties: readonly Property[]
    /** Whether it has an integer `cartodb_id`, the id of its features. */
    hasId: boolean
    estimatedRows: number
    comment: string | null
    /** The version that the database returns. */
    tableVersion: string | null
    /** Differs after each change to what a tile shows. Null: changes of the layer cannot be detected. */
    version: string | null
    /** Differs after each change of the definition. */
    definition: string
    /** Its rows were rewritten after the snapshot of this look-up was taken. */
    isMoved: boolean
  }>

export type LookUpOptions = Readonly<{
  /** What an earlier look-up found: nothing is read that cannot have changed since. */
  known?: Layer | undefined
  /** Code of a tenant may have run on the session. Else it stays clean, as none runs here. */
  isUsed?: boolean
}>

/** Looks up a layer as the role of the session. Throws if the role cannot read it. */
export async function lookUpLayer(
  session: Session,
  table: TableName,
  { known, isUsed = false }: LookUpOptions = {},
): Promise<Layer> {
  // A tenant could have replaced a prepared statement.
  const [row] = isUsed
    ? (await session.ask([layerSql(table, known)]))[0]!
    : await session.lookFast('tile layer', preparedSql, [
        table.schema,
        table.name,
        known?.tableVersion ?? null,
      ])
  return readFoundLayer(table, known, row)
}

const preparedSql = 'select cartodb._CDB_TileLayer($1, $2, $3) as layer'

/** The same with the values in it. */
export function layerSql({ schema, name }: TableName, known: Layer | undefined): string {
  const version = known?.tableVersion ?? null
  const values = [quoteLiteral(schema), quoteLiteral(name), version === null ? 'null' : quoteLiteral(version)]
  return `select cartodb._CDB_TileLayer(${values.join(', ')}) as layer`
}

export function readFoundLayer(table: TableName, known: Layer | undefined, row: WireRow | undefined): Layer {
  const [json] = row ?? []
  const found = json ? (JSON.parse(json.toString()) as FoundLayer | UnchangedLayer) : null
  if (!found || !('is_known' in found)) return readLayer(table, found)
  return known!.isMoved === found.is_moved ? known! : { ...known!, isMoved: found.is_moved }
}

type TileColumn = Property | (Geometry & Readonly<{ kind: 'geometry' }>)

type FoundLayer = Readonly<{
  schema: string
  name: string
  kind: string
  rows: number
  columns: readonly TileColumn[]
  version: string | null
  comment: string | null
  is_moved: boolean
}>

type UnchangedLayer = Readonly<{ is_known: true; is_moved: boolean }>

function readLayer(table: TableName, layer: FoundLayer | null): Layer {
  const geometries = layer?.columns.filter(isGeometry) ?? []
  const geometry = geometries.find(({ name }) => name === 'the_geom_webmercator') ?? geometries[0]
  if (!layer || !geometry) throw errors.notFound(`Table '${table.name}'`)
  const properties = layer.columns.filter((column): column is Property => !isGeometry(column))
  const definition = hashOf([layer.kind, layer.columns])
  return {
    schema: layer.schema,
    name: layer.name,
    kind: layer.kind,
    geometry,
    properties,
    hasId: properties.some(({ name, kind }) => name === 'cartodb_id' && kind === 'integer'),
    estimatedRows: layer.rows,
    comment: layer.comment,
    tableVersion: layer.version,
    version: layer.version === null ? null : hashOf([layer.version, definition]),
    definition,
    isMoved: layer.is_moved,
  }
}

const isGeometry = (column: TileColumn): column is Extract<TileColumn, { kind: 'geometry' }> =>
  column.kind === 'geometry'

/** Of bytes, or of anything that JSON can write. */
export const hashOf = (value: unknown) =>
  hash('sha256', Buffer.isBuffer(value) ? value : JSON.stringify(value), 'base64url').slice(0, 27)
