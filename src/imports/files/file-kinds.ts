import { isBinary } from '../../file-import/other-kind.ts'

/** Kinds of files that become tables. */
export const fileKinds = {
  csv: { endings: ['csv', 'tsv', 'txt', 'tab.txt'], driver: undefined, named: 'file' },
  geojson: { endings: ['geojson', 'json'], driver: 'GeoJSON', named: 'file' },
  geojsonl: { endings: ['geojsonl', 'ndjson', 'geojsons', 'jsonl'], driver: 'GeoJSONSeq', named: 'file' },
  shp: { endings: ['shp'], driver: 'ESRI Shapefile', named: 'file' },
  gpkg: { endings: ['gpkg'], driver: 'GPKG', named: 'layer' },
  fgb: { endings: ['fgb'], driver: 'FlatGeobuf', named: 'layer' },
  gdb: { endings: ['gdb'], driver: 'OpenFileGDB', named: 'layer' },
  kml: { endings: ['kml'], driver: 'LIBKML', named: 'always-layer' },
  kmz: { endings: ['kmz'], driver: 'LIBKML', named: 'always-layer' },
  gpx: { endings: ['gpx'], driver: 'GPX', named: 'always-layer' },
  osm: { endings: ['osm'], driver: 'OSM', named: 'always-layer' },
  pbf: { endings: ['pbf'], driver: 'OSM', named: 'always-layer' },
  xlsx: { endings: ['xlsx'], driver: 'XLSX', named: 'file' },
  ods: { endings: ['ods'], driver: 'ODS', named: 'file' },
  tab: { endings: ['tab'], driver: 'MapInfo File', named: 'file' },
  mif: { endings: ['mif'], driver: 'MapInfo File', named: 'file' },
  parquet: { endings: ['parquet', 'geoparquet'], driver: undefined, named: 'file' },
  arrow: { endings: ['arrow', 'arrows', 'feather'], driver: undefined, named: 'file' },
} as const satisfies Record<
  string,
  {
    endings: readonly string[]
    /** GDAL's; undefined: not for GDAL. */
    driver: string | undefined
    /**
     * The table has the name of the file; or, if the file has several layers, of file and layer; or always of both, and
     * then only layers with features become tables.
     */
    named: 'file' | 'layer' | 'always-layer'
  }
>

export type FileKind = keyof typeof fileKinds

export const takenKinds =
  'CSV, TSV, GeoJSON, GeoJSON Lines, GeoPackage, FlatGeobuf, KML, KMZ, GPX, OSM, PBF, XLSX, ODS, Parquet, Arrow, and zip files of these, of shapefiles, MapInfo files or a file geodatabase'

/** Kinds that a program of ours reads in the sandbox. */
export type ColumnarKind = 'parquet' | 'arrow'
export const isColumnKind = (kind: FileKind): kind is ColumnarKind => kind === 'parquet' || kind === 'arrow'

/** Kinds that are zip files, which GDAL unpacks. */
export const isArchive = (kind: FileKind) => kind === 'kmz' || kind === 'xlsx' || kind === 'ods'

/** The kind that the name says. */
export function kindByName(name: string): FileKind | undefined {
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase()
  if (ending === undefined) return undefined
  const found = Object.entries(fileKinds).find(([, { endings }]) =>
    (endings as readonly string[]).includes(ending),
  )
  return found?.[0] as FileKind | undefined
}

/** Whether the beginning of a file is what a file of this kind begins with. */
export function looksLike(kind: FileKind, head: Buffer): boolean {
  switch (kind) {
    case 'csv':
      return isPlainText(head)
    case 'geojson':
      return /^\s*[{[]/.test(textOf(head)) && !isBinary(head)
    case 'geojsonl':
      return /^\s*\{/.test(textOf(head).replaceAll('\u001e', ''))
    case 'kml':
      return /<(?:\w+:)?kml[\s>]/.test(textOf(head))
    case 'gpx':
      return /<(?:\w+:)?gpx[\s>]/.test(textOf(head))
    case 'osm':
      return /<osm[\s>]/.test(textOf(head))
    case 'mif':
      return /^\s*version\s/i.test(textOf(head))
    case 'tab':
      return /^\s*!table/i.test(textOf(head))
    case 'parquet':
      return head.toString('latin1', 0, 4) === 'PAR1'
    case 'arrow':
      return isArrow(head)
    default:
      return beginsWith(head, beginnings[kind])
  }
}

const beginnings = {
  shp: [Buffer.from([0, 0, 0x27, 0x0a])],
  gpkg: [Buffer.from('SQLite format 3\0')],
  fgb: [Buffer.from('fgb')],
  gdb: [Buffer.alloc(0)],
  kmz: [Buffer.from('PK\x03\x04')],
  xlsx: [Buffer.from('PK\x03\x04')],
  ods: [Buffer.from('PK\x03\x04')],
  pbf: [Buffer.from('OSMHeader')],
}

/** A file begins with a name; a stream with a mark and the length of its schema. */
function isArrow(head: Buffer): boolean {
  if (head.toString('latin1', 0, 6) === 'ARROW1') return true
  return head.length >= 16 && head.readInt32LE(0) === -1 && head.readInt32LE(4) > 0
}

function beginsWith(head: Buffer, marks: readonly Buffer[]): boolean {
  return marks.some((mark) => head.subarray(0, 64).includes(mark))
}

export const isZip = (head: Buffer) =>
  ['PK\u0003\u0004', 'PK\u0005\u0006'].includes(head.toString('latin1', 0, 4))
export const isGzip = (head: Buffer) => head[0] === 0x1f && head[1] === 0x8b

/** Markup and scripts in disguise are refused: no table is meant. */
function isPlainText(head: Buffer): boolean {
  if (isUtf16(head)) return true
  return !isBinary(head) && !isZip(head) && !/^\s*<[a-z!?]/i.test(textOf(head).slice(0, 1_000))
}

const isUtf16 = ([first, second]: Buffer) =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)

const textOf = (head: Buffer) => head.toString('latin1').replace(/^\xef\xbb\xbf/, '')
