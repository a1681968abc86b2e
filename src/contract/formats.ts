/** What rows are written in, in sessions too. */
export const formats = ['json', 'geojson', 'csv', 'ndjson'] as const
export type Format = (typeof formats)[number]

/** Other formats of the SQL endpoint. */
export const fileFormats = [
  'arrow',
  'parquet',
  'gpkg',
  'shp',
  'fgb',
  'kml',
  'xlsx',
  'spatialite',
  'svg',
  'topojson',
  'arraybuffer',
] as const
export type FileFormat = (typeof fileFormats)[number]
export const sqlFormats = [...formats, ...fileFormats] as const
export type SqlFormat = Format | FileFormat

export type FormatFacts = Readonly<{
  /** As the console names it. */
  label: string
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
  arraybuffer: { label: 'ArrayBuffer', extension: 'arraybuffer', type: 'application/octet-stream' },
} as const satisfies Record<SqlFormat, FormatFacts>

/** What the data of a copyfrom may be compressed with. */
export const contentEncodings = ['gzip', 'deflate', 'br', 'zstd'] as const
export type ContentEncoding = (typeof contentEncodings)[number]

/** How the rows on all pages are counted. */
export const totals = ['exact', 'estimate'] as const
export type Total = (typeof totals)[number]

/** The sort orders of rows and of lists. */
export const sortOrders = ['asc', 'desc'] as const
export type SortOrder = (typeof sortOrders)[number]

/** What a load does with a row that PostgreSQL refuses, and with a row whose key exists already. */
export const onErrors = ['stop', 'skip'] as const

/** Which of the rejected rows are listed. */
export const rejectLists = ['first', 'all'] as const
export const onConflicts = ['update', 'nothing'] as const
export type OnConflict = (typeof onConflicts)[number]

/** How the lines of a text file end. */
export type LineEnd = 'LF' | 'CR' | 'CRLF'
