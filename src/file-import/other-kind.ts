/** The kind of a file that is neither text of values nor GeoJSON, by its first bytes and its name; undefined if unknown. */
export function otherKind(head: Uint8Array, name: string): string | undefined {
  // A decoder of browsers reads latin1 as Windows-1252.
  const begin = String.fromCharCode(...head.subarray(0, 512))
  const known = signatures.find(([start]) => begin.startsWith(start))?.[1]
  if (known !== undefined) return zipped(name, known)
  const text = begin.replace(/^\u00ef\u00bb\u00bf/, '').trimStart()
  return /^<[?!a-z]/i.test(text) ? markupKind(text, name) : undefined
}

const signatures: readonly (readonly [start: string, kind: string])[] = [
  ['PK\u0003\u0004', 'a ZIP archive'],
  ['SQLite format 3', 'a GeoPackage or SQLite database'],
  ['PAR1', 'Parquet'],
  ['ARROW1', 'Arrow'],
  ['fgb\u0003', 'FlatGeobuf'],
  ['\u0000\u0000\u0027\u000a', 'a shapefile'],
  ['\u00d0\u00cf\u0011\u00e0', 'an old Excel workbook (.xls)'],
  ['%PDF', 'a PDF document'],
  ['\u0089PNG', 'a PNG image'],
  ['\u00ff\u00d8\u00ff', 'a JPEG image'],
  ['II*\u0000', 'a TIFF image'],
  ['MM\u0000*', 'a TIFF image'],
  ['BZh', 'compressed with bzip2'],
  ['\u00fd7zXZ', 'compressed with xz'],
  ['(\u00b5/\u00fd', 'compressed with zstd'],
  ['7z\u00bc\u00af', 'a 7z archive'],
  ['Rar!', 'a RAR archive'],
  ['PGCOPY\n', 'the binary format of COPY'],
  ['PGDMP', 'a dump of pg_dump'],
]

function zipped(name: string, kind: string): string {
  if (!kind.includes('ZIP')) return kind
  if (/\.xlsx$/i.test(name)) return 'an Excel workbook'
  if (/\.kmz$/i.test(name)) return 'KMZ'
  return /\.ods$/i.test(name) ? 'an OpenDocument spreadsheet' : kind
}

function markupKind(text: string, name: string): string {
  if (/<html\b|<!doctype html/i.test(text)) return 'a web page (HTML)'
  if (/<kml\b/i.test(text) || /\.kml$/i.test(name)) return 'KML'
  if (/<gpx\b/i.test(text) || /\.gpx$/i.test(name)) return 'GPX'
  return /<osm\b/i.test(text) ? 'OpenStreetMap XML' : 'XML'
}

/** Bytes that no text has: NUL, or many control characters. */
export function isBinary(head: Uint8Array): boolean {
  let controls = 0
  for (const byte of head) {
    if (byte === 0) return true
    if (byte < 9 || (byte > 13 && byte < 32 && byte !== 27)) controls++
  }
  return controls > head.length / 100
}
