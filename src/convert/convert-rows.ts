import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onlyDrivers } from './gdal.ts'
import {
  type Conversion,
  type FileTable,
  type GdalFormat,
  gdalFormats,
  geometryField,
  rowsFile,
  type TableColumn,
} from './gdal-formats.ts'
import { requireSandbox, runConverter } from './run-converter.ts'

/** Why no file was written. */
export class ConversionError extends Error {
  readonly isStopped: boolean

  constructor(message: string, isStopped = false) {
    super(message)
    this.name = 'ConversionError'
    this.isStopped = isStopped
  }
}

/** One run of GDAL. */
export async function convertRows(
  conversion: Conversion,
  output: string,
  options: readonly string[],
): Promise<void> {
  const { gdal, sandbox, directory, format, layer, limits, signal, table } = conversion
  const { driver, options: own } = gdalFormats[format]
  await writeFile(join(directory, 'input.csvt'), typesOf(table))
  await writeFile(join(directory, queryFile), queryOf(table))
  const rows = table.columns.length === 0 ? ['-select', ''] : ['-sql', `@${queryFile}`]
  const names = ['-f', driver, ...own, ...options, ...rows, ...readOptions(format, table), '-nln', layer]
  const args = [...onlyDrivers(gdal, ['CSV', driver]), ...names, output, rowsFile]
  const running = runConverter(sandbox, { program: gdal.ogr2ogr, args, directory, limits }, signal)
  running.stdin.end()
  running.stdout.resume()
  const { exitCode, stopped, stderr } = await running.ended
  if (stopped === 'caller') throw new ConversionError('it was stopped', true)
  if (stopped === 'time') throw new ConversionError('it took too long')
  requireSandbox({ exitCode, stderr })
  // GDAL may print an error, or change a value with a warning, and exit with 0.
  const trouble = /^(?:ERROR \d+|Warning \d+(?=.*(?:clamped|truncated|not successfully))): (.*)$/m.exec(
    stderr,
  )?.[1]
  if (exitCode !== 0 || trouble !== undefined) throw new ConversionError(trouble ?? noReason)
}

/** A table without geometries is no layer of SpatiaLite: there it has a column of them, all NULL. */
const readOptions = (format: GdalFormat, { hasGeometry, kinds }: FileTable) => [
  ...['-oo', 'HEADERS=YES', '-oo', 'EMPTY_STRING_AS_NULL=YES', '-oo', 'MAX_LINE_SIZE=-1'],
  ...(hasGeometry || format === 'spatialite' ? geometryOptions : ['-nlt', 'NONE']),
  ...(format === 'fgb' ? ['-dim', dimensionsOf(kinds)] : []),
]

const geometryOptions = [
  ...['-oo', `GEOM_POSSIBLE_NAMES=${geometryField}`, '-oo', 'KEEP_GEOM_COLUMNS=NO'],
  ...['-a_srs', 'EPSG:4326'],
]

const typesOf = ({ columns }: FileTable) =>
  ['String', 'String', ...columns.map(({ type }) => type)].map((type) => `"${type}"`).join(',')

/** A file that must have the same dimensions in all geometries. */
const dimensionsOf = ([kind = '']: FileTable['kinds']) => `XY${/(zm|z|m)?$/.exec(kind)![0].toUpperCase()}`

function queryOf({ columns }: FileTable): string {
  const list = columns.map((column) => `${sourceOf(column)} AS "${column.name.replaceAll('"', '\\"')}"`)
  return `SELECT ${list.join(', ')} FROM input`
}

const sourceOf = ({ source, isPrefixed }: TableColumn) => (isPrefixed ? `SUBSTR(${source}, 2)` : source)

const queryFile = 'query.sql'
const noReason = 'the converter ended: the rows may be too many for its memory'
