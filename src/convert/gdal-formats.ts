import type { Gdal } from './gdal.ts'
import type { ConverterLimits, SandboxKind } from './sandbox.ts'

/** A format that GDAL writes. */
export type GdalFormat = keyof typeof gdalFormats

/** Its driver and options. `fid`: its column of ids. */
export const gdalFormats = {
  gpkg: { driver: 'GPKG', options: [], fid: 'fid' },
  kml: { driver: 'KML', options: [], fid: undefined },
  xlsx: { driver: 'XLSX', options: [], fid: undefined },
  spatialite: {
    driver: 'SQLite',
    options: ['-dsco', 'SPATIALITE=YES', '-lco', 'LAUNDER=NO'],
    fid: 'ogc_fid',
  },
  fgb: { driver: 'FlatGeobuf', options: [], fid: undefined },
} as const

/** The file that the rows are written to first, in the directory of the conversion: CSV. */
export const rowsFile = 'input.csv'

/** Its column of geometries, which gives that of the file its name. */
export const geometryField = 'the_geom'

/** A column of the rows, as GDAL's CSV driver shall read it. */
export type TableColumn = Readonly<{
  /** Without control characters. */
  name: string
  source: string
  type: 'Integer' | 'Integer64' | 'Real' | 'Integer(Boolean)' | 'Date' | 'DateTime' | 'String'
  /** Its values have one more character in front, so that an empty text is not NULL. */
  isPrefixed: boolean
}>

export type FileTable = Readonly<{
  columns: readonly TableColumn[]
  hasGeometry: boolean
  /** Such as `pointz`, from the column `kind` of the rows. */
  kinds: readonly string[]
  /** A column of whole numbers without NULL, which may be the ids of the file. */
  idColumn: string | undefined
}>

export type Conversion = Readonly<{
  gdal: Gdal
  sandbox: SandboxKind
  /** Private to this conversion: it has `rowsFile`, and gets the result. */
  directory: string
  format: GdalFormat
  table: FileTable
  /** A name of ours: letters, digits and underscores. */
  layer: string
  limits: ConverterLimits
  signal: AbortSignal
}>
