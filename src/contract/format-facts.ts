import type { SqlFormat } from './formats.ts'

export type FormatFacts = Readonly<{
  /** As the console names it, which does not offer it without. */
  label?: string
  /** How its files end. */
  extension: string
  /** The media type of the answer, with its parameters. */
  type: string
  /** How each answer begins, if that is always the same text. */
  start?: string
}>

/** What server, client, command line and console know of each format, in the order in which people choose. */
export const formatFacts = {
  csv: { label: 'CSV', extension: 'csv', type: 'text/csv; charset=utf-8; header=present' },
  json: { label: 'JSON', extension: 'json', type: 'application/json; charset=utf-8', start: '{"rows":[' },
  ndjson: { label: 'NDJSON', extension: 'ndjson', type: 'application/x-ndjson; charset=utf-8' },
  geojson: {
    label: 'GeoJSON',
    extension: 'geojson',
    type: 'application/json; charset=utf-8',
    start: '{"type":"FeatureCollection"',
  },
  gpkg: { label: 'GeoPackage', extension: 'gpkg', type: 'application/geopackage+sqlite3' },
  shp: { label: 'Shapefile', extension: 'zip', type: 'application/zip' },
  fgb: { label: 'FlatGeobuf', extension: 'fgb', type: 'application/vnd.flatgeobuf' },
  kml: { label: 'KML', extension: 'kml', type: 'application/vnd.google-earth.kml+xml' },
  xlsx: {
    label: 'Excel',
    extension: 'xlsx',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  },
  spatialite: { label: 'SpatiaLite', extension: 'sqlite', type: 'application/vnd.sqlite3' },
  topojson: {
    label: 'TopoJSON',
    extension: 'topojson',
    type: 'application/json; charset=utf-8',
    start: '{"type":"Topology"',
  },
  svg: { label: 'SVG', extension: 'svg', type: 'image/svg+xml; charset=utf-8', start: '<?xml' },
  parquet: { label: 'Parquet', extension: 'parquet', type: 'application/vnd.apache.parquet' },
  arrow: { label: 'Arrow', extension: 'arrow', type: 'application/vnd.apache.arrow.stream' },
  arraybuffer: { extension: 'arraybuffer', type: 'application/octet-stream' },
} as const satisfies Record<SqlFormat, FormatFacts>
