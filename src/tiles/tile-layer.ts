import { createHash } from 'node:crypto'
import { errors } from '../errors.ts'
import type { Session } from '../postgres/session.ts'

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
    /** Differs after each change to what a tile shows. Null: it cannot be told whether the layer has changed. */
    version: string | null
    /** Differs after each change of the definition. */
    definition: string
    /** Its rows were rewritten after the snapshot of this look-up was taken. */
    isMoved: boolean
  }>

export type LookUpLayer = (session: Session, table: TableName) => Promise<Layer>

/** Looks up a layer on a clean session, which stays clean: no code of a tenant runs. Throws if the role cannot read it. */
export async function lookUpLayer(session: Session, table: TableName): Promise<Layer> {
  const { rows } = await session.look<LayerRow>('tile layer', layerSql, [table.schema, table.name])
  return readLayer(table, rows[0])
}

/** The same in the transaction of a tile. */
export async function lookUpLayerAgain(session: Session, table: TableName): Promise<Layer> {
  const { rows } = await session.query<LayerRow>(layerSql, [table.schema, table.name])
  return readLayer(table, rows[0])
}

const layerSql = 'select cartodb._CDB_TileLayer($1, $2) as layer'

type Column = Property | (Geometry & Readonly<{ kind: 'geometry' }>)

type LayerRow = {
  layer: Readonly<{
    schema: string
    name: string
    kind: string
    rows: number
    columns: readonly Column[]
    version: string | null
    comment: string | null
    is_moved: boolean
  }> | null
}

function readLayer(table: TableName, row: LayerRow | undefined): Layer {
  const layer = row?.layer
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
    version: layer.version === null ? null : hashOf([layer.version, definition]),
    definition,
    isMoved: layer.is_moved,
  }
}

const isGeometry = (column: Column): column is Extract<Column, { kind: 'geometry' }> =>
  column.kind === 'geometry'

export const hashOf = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 27)
