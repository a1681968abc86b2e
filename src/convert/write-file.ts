import { writeFile as writeText } from 'node:fs/promises'
import { join } from 'node:path'
import { type Gdal, onlyDrivers } from './gdal.ts'
import { runConverter } from './run-converter.ts'
import type { ConverterLimits, SandboxKind } from './sandbox.ts'

/** A format that GDAL writes. */
export type GdalFormat = keyof typeof gdalFormats

/** Its driver and options, and how its files end. `needsGeometry`: it has no rows without one. `fid`: its column of ids. */
export const gdalFormats = {
  gpkg: { driver: 'GPKG', options: [], extension: 'gpkg', needsGeometry: false, fid: 'fid' },
  kml: { driver: 'LIBKML', options: [], extension: 'kml', needsGeometry: true, fid: undefined },
  xlsx: { driver: 'XLSX', options: [], extension: 'xlsx', needsGeometry: false, fid: undefined },
  spatialite: {
    driver: 'SQLite',
    options: ['-dsco', 'SPATIALITE=YES', '-lco', 'LAUNDER=NO'],
    extension: 'sqlite',
    needsGeometry: false,
    fid: 'ogc_fid',
  },
} as const

/** The file that the rows are written to first, in the directory of the conversion: CSV. */
export const rowsFile = 'input.csv'

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

/** Why GDAL has written no file. */
export class ConversionError extends Error {
  readonly isStopped: boolean

  constructor(message: string, isStopped = false) {
    super(message)
    this.name = 'ConversionError'
    this.isStopped = isStopped
  }
}

/** Writes the rows in a format of GDAL and returns the path of the file. Throws a ConversionError. */
export async function writeFile(conversion: Conversion): Promise<string> {
  const { directory, format, table } = conversion
  await writeText(join(directory, 'input.csvt'), typesOf(table))
  await writeText(join(directory, queryFile), queryOf(table))
  const { fid, extension } = gdalFormats[format]
  const output = `output.${extension}`
  const { idColumn } = table
  if (fid !== undefined && idColumn !== undefined) {
    try {
      await convert(conversion, output, ['-lco', `FID=${idColumn}`])
      return join(directory, output)
    } catch (error) {
      // Ids that are not unique are a column like others.
      if (!(error instanceof ConversionError) || error.isStopped) throw error
    }
  }
  const last = `second.${extension}`
  await convert(conversion, last, fid === undefined ? [] : ['-lco', `FID=${freeId(fid, table)}`])
  return join(directory, last)
}

async function convert(conversion: Conversion, output: string, options: readonly string[]): Promise<void> {
  const { gdal, sandbox, directory, format, layer, limits, signal, table } = conversion
  const { driver, options: own } = gdalFormats[format]
  const rows = table.columns.length === 0 ? ['-select', ''] : ['-sql', `@${queryFile}`]
  const names = ['-f', driver, ...own, ...options, ...rows, ...readOptions(format, table), '-nln', layer]
  const args = [...onlyDrivers(gdal, ['CSV', driver]), ...names, output, rowsFile]
  const running = runConverter(sandbox, { program: gdal.ogr2ogr, args, directory, limits }, signal)
  running.stdin.end()
  running.stdout.resume()
  const { exitCode, stopped, stderr } = await running.ended
  if (stopped === 'caller') throw new ConversionError('it was stopped', true)
  if (stopped === 'time') throw new ConversionError('it took too long')
  // GDAL may print an error, or change a value with a warning, and exit with 0.
  const trouble = /^(?:ERROR \d+|Warning \d+(?=.*(?:clamped|truncated|not successfully))): (.*)$/m.exec(
    stderr,
  )?.[1]
  if (exitCode !== 0 || trouble !== undefined) throw new ConversionError(trouble ?? noReason)
}

/** A table without geometries is no layer of SpatiaLite: there it has a column of them, all NULL. */
const readOptions = (format: GdalFormat, { hasGeometry }: FileTable) => [
  ...['-oo', 'HEADERS=YES', '-oo', 'EMPTY_STRING_AS_NULL=YES', '-oo', 'MAX_LINE_SIZE=-1'],
  ...(hasGeometry || format === 'spatialite'
    ? [...['-oo', 'GEOM_POSSIBLE_NAMES=the_geom', '-oo', 'KEEP_GEOM_COLUMNS=NO'], ...['-a_srs', 'EPSG:4326']]
    : ['-nlt', 'NONE']),
]

const typesOf = ({ columns }: FileTable) =>
  ['String', 'String', ...columns.map(({ type }) => type)].map((type) => `"${type}"`).join(',')

function queryOf({ columns }: FileTable): string {
  const list = columns.map(({ name, source, isPrefixed }) => {
    const value = isPrefixed ? `SUBSTR(${source}, 2)` : source
    return `${value} AS "${name.replaceAll('"', '\\"')}"`
  })
  return `SELECT ${list.join(', ')} FROM input`
}

function freeId(usual: string, { columns }: FileTable): string {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()))
  let name = usual
  for (let count = 1; taken.has(name); count += 1) name = `${usual}_${count}`
  return name
}

const queryFile = 'query.sql'
const noReason = 'the converter ended: the rows may be too many for its memory'
