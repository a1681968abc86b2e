import { join } from 'node:path'
import { type Gdal, onlyDrivers } from './gdal.ts'
import { runConverter } from './run-converter.ts'
import type { ConverterLimits, SandboxKind } from './sandbox.ts'

/** A format that GDAL writes. */
export type GdalFormat = keyof typeof gdalFormats

/** Its driver and options, and how its files end. `needsGeometry`: it has no rows without one. */
export const gdalFormats = {
  gpkg: { driver: 'GPKG', options: [], extension: 'gpkg', needsGeometry: false },
  kml: { driver: 'LIBKML', options: [], extension: 'kml', needsGeometry: true },
  xlsx: { driver: 'XLSX', options: [], extension: 'xlsx', needsGeometry: false },
  spatialite: {
    driver: 'SQLite',
    options: ['-dsco', 'SPATIALITE=YES'],
    extension: 'sqlite',
    needsGeometry: false,
  },
} as const

/** The file that the rows are written to first, in the directory of the conversion. */
export const rowsFile = 'input.geojson'

export type Conversion = Readonly<{
  gdal: Gdal
  sandbox: SandboxKind
  /** Private to this conversion: it has `rowsFile`, and gets the result. */
  directory: string
  format: GdalFormat
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
  const { gdal, sandbox, directory, format, layer, limits, signal } = conversion
  const { driver, options, extension } = gdalFormats[format]
  const output = `output.${extension}`
  const names = ['-f', driver, ...options, '-nln', layer, output, rowsFile]
  const args = [...onlyDrivers(gdal, ['GeoJSON', driver]), ...names]
  const running = runConverter(sandbox, { program: gdal.ogr2ogr, args, directory, limits }, signal)
  running.stdin.end()
  running.stdout.resume()
  const { exitCode, stopped, stderr } = await running.ended
  if (stopped === 'caller') throw new ConversionError('it was stopped', true)
  if (stopped === 'time') throw new ConversionError('it took too long')
  // GDAL may print an error, or change a value with a warning, and exit with 0.
  const trouble = /^(?:ERROR \d+|Warning \d+(?=.*clamped)): (.*)$/m.exec(stderr)?.[1]
  if (exitCode !== 0 || trouble !== undefined) throw new ConversionError(trouble ?? noReason)
  return join(directory, output)
}

const noReason = 'the converter ended: the rows may be too many for its memory'
