/** What an import does if its table exists. Without one it chooses another name. */
export const collisionStrategies = ['skip', 'overwrite', 'append', 'upsert'] as const
export type CollisionStrategy = (typeof collisionStrategies)[number]

/** Endings of files that only the service reads; clients read CSV, TSV and GeoJSON themselves. */
export const sentFileEndings = [
  ...['zip', 'gpkg', 'fgb', 'kml', 'kmz', 'gpx', 'osm', 'pbf', 'xlsx', 'ods'],
  ...['geojsonl', 'geojsons', 'ndjson', 'jsonl', 'parquet', 'geoparquet', 'arrow', 'arrows', 'feather'],
] as const

export const importPrivacies = ['public', 'link', 'private'] as const
export type ImportPrivacy = (typeof importPrivacies)[number]

/** The endings of files that only the service reads: the browser and the command line stream CSV and GeoJSON into a COPY. */
export const serviceEndings = [
  ...['zip', 'gpkg', 'fgb', 'kml', 'kmz', 'gpx', 'osm', 'pbf', 'xlsx', 'ods'],
  ...['geojson', 'json', 'geojsonl', 'ndjson', 'geojsons', 'jsonl'],
  ...['parquet', 'geoparquet', 'arrow', 'arrows', 'feather'],
] as const

export const hasServiceEnding = (name: string) =>
  serviceEndings.some((ending) => name.toLowerCase().replace(/\.gz$/, '').endsWith(`.${ending}`))
