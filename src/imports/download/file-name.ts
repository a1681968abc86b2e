import { kindByName } from '../files/file-kinds.ts'

/** The name of a downloaded file: as its server calls it, else as its address does. It tells the kind of the file. */
export function downloadName(url: URL, disposition: string | undefined, type: string | undefined): string {
  const name = (dispositionName(disposition) ?? nameInUrl(url)).slice(0, 255)
  if (kindByName(name.replace(/\.gz$/i, '')) !== undefined || /\.zip$/i.test(name)) return name
  const ending = endings[type?.split(';', 1)[0]?.trim().toLowerCase() ?? '']
  return ending === undefined ? name : `${name}.${ending}`
}

/** The last part of the path. */
export function nameInUrl({ pathname, hostname }: URL): string {
  const last = pathname.replace(/\/+$/, '').replace(/^.*\//, '')
  return decoded(last) || hostname
}

function dispositionName(header = ''): string | undefined {
  const extended = /;\s*filename\*\s*=\s*utf-8''([^;\s]+)/i.exec(header)?.[1]
  const plain = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(header)
  const name =
    extended === undefined ? (plain?.[1]?.replace(/\\(.)/g, '$1') ?? plain?.[2]) : decoded(extended)
  return name?.replace(/^.*[/\\]/, '').trim() || undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text).replaceAll('\0', '')
  } catch {
    return text
  }
}

const endings: Readonly<Record<string, string>> = {
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'text/plain': 'csv',
  'application/json': 'geojson',
  'application/geo+json': 'geojson',
  'application/vnd.geo+json': 'geojson',
  'application/geo+json-seq': 'geojsonl',
  'application/x-ndjson': 'geojsonl',
  'application/zip': 'zip',
  'application/x-zip-compressed': 'zip',
  'application/geopackage+sqlite3': 'gpkg',
  'application/vnd.google-earth.kml+xml': 'kml',
  'application/vnd.google-earth.kmz': 'kmz',
  'application/gpx+xml': 'gpx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.apache.parquet': 'parquet',
  'application/vnd.apache.arrow.file': 'arrow',
  'application/vnd.apache.arrow.stream': 'arrow',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
}
