import type { GdalFormat } from '../../convert/gdal-formats.ts'

/** A format whose rows are spooled before the file is written. */
export type SpooledFormat = GdalFormat | 'shp'

/** What such a format can hold. Everything else is refused, or changed with a warning. */
export type FileRules = Readonly<{
  /** `none`: the file has no geometries. */
  geometry: 'any' | 'none'
  /** A result without a geometry is refused. */
  needsGeometry: boolean
  curves: boolean
  measures: boolean
  /** POINT EMPTY and the like. */
  empties: boolean
  /** Rows without a geometry. */
  nulls: boolean
  collections: boolean
  /** It knows no coordinates but those of the earth: longitudes are brought to -180 to 180, other latitudes refused. */
  isLonLat: boolean
  /** All geometries have the same dimensions. */
  oneDimension: boolean
  /**
   * `double`: what a number of 64 bits holds. `digits15`: 15 digits. `dbf`: digits in a field of 24 characters. `text`: all
   * digits.
   */
  numbers: 'double' | 'digits15' | 'dbf' | 'text'
  /** Times have milliseconds, or are texts. */
  times: 'milliseconds' | 'text'
  dates: 'date' | 'text'
  /** Empty texts, and spaces at the end of texts. */
  blanks: boolean
  /** Longer texts are cut, with a warning. */
  cutBytes?: number
  /** Longer texts are refused. */
  maxCharacters?: number
  /** The format is XML, so it cannot hold control characters. */
  isXml: boolean
  maxRows?: number
  maxColumns?: number
  /** The length of a column name. */
  nameBytes?: number
}>

const usual: FileRules = {
  geometry: 'any',
  needsGeometry: false,
  curves: true,
  measures: true,
  empties: true,
  nulls: true,
  collections: true,
  isLonLat: false,
  oneDimension: false,
  numbers: 'double',
  times: 'milliseconds',
  dates: 'date',
  blanks: true,
  isXml: false,
}

export const fileRules: Record<SpooledFormat, FileRules> = {
  gpkg: usual,
  spatialite: { ...usual, curves: false },
  kml: {
    ...usual,
    needsGeometry: true,
    curves: false,
    measures: false,
    empties: false,
    isLonLat: true,
    numbers: 'text',
    times: 'text',
    dates: 'text',
    isXml: true,
  },
  xlsx: {
    ...usual,
    geometry: 'none',
    numbers: 'digits15',
    isXml: true,
    maxCharacters: 32_767,
    maxRows: 1_048_575,
    maxColumns: 16_384,
  },
  // GDAL leaves out rows without a geometry.
  fgb: { ...usual, needsGeometry: true, empties: false, nulls: false, oneDimension: true },
  shp: {
    ...usual,
    needsGeometry: true,
    curves: false,
    empties: false,
    collections: false,
    numbers: 'dbf',
    times: 'text',
    blanks: false,
    cutBytes: 254,
    maxColumns: 255,
    nameBytes: 10,
  },
}
