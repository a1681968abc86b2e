/** What rows are written in, in sessions too. */
export const formats = ['json', 'geojson', 'csv', 'ndjson'] as const
export type Format = (typeof formats)[number]

/** What the SQL endpoint writes besides. */
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

/** What the data of a copyfrom may be compressed with. */
export const contentEncodings = ['gzip', 'deflate', 'br', 'zstd'] as const
export type ContentEncoding = (typeof contentEncodings)[number]

/** How the rows on all pages are counted. */
export const totals = ['exact', 'estimate'] as const
export type Total = (typeof totals)[number]

/** Of rows and of lists. */
export const sortOrders = ['asc', 'desc'] as const
export type SortOrder = (typeof sortOrders)[number]

/** What a load does with a row that PostgreSQL refuses, and with one whose key is there already. */
export const onErrors = ['stop', 'skip'] as const

/** Which of the rejected rows are listed. */
export const rejectLists = ['first', 'all'] as const
export const onConflicts = ['update', 'nothing'] as const
export type OnConflict = (typeof onConflicts)[number]
