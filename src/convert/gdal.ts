import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

/** GDAL as found on this machine: the program and every driver it has. Those of `rasters` read no features. */
export type Gdal = Readonly<{
  ogr2ogr: string
  version: string
  drivers: readonly string[]
  rasters: readonly string[]
}>

/** undefined: it is not installed, or does not run. */
export async function findGdal(): Promise<Gdal | undefined> {
  const ogr2ogr = places.find((path) => existsSync(path))
  if (ogr2ogr === undefined) return undefined
  try {
    const [version, vectors, rasters] = await Promise.all([
      ask(ogr2ogr, '--version'),
      ask(ogr2ogr, '--formats'),
      ask(ogr2ogr.replace(/ogr2ogr$/, 'gdalinfo'), '--formats'),
    ])
    const [features, all] = [driverNames(vectors), driverNames(rasters)]
    return {
      ogr2ogr,
      version: version.trim(),
      drivers: [...new Set([...features, ...all])],
      rasters: all.filter((driver) => !features.includes(driver)),
    }
  } catch {
    return undefined
  }
}

/** Options that leave only these drivers registered. They are read before any driver is. */
export function onlyDrivers(gdal: Gdal, wanted: readonly string[]): string[] {
  const others = gdal.drivers.filter((driver) => !wanted.includes(driver))
  return [
    ...['--config', 'GDAL_DRIVER_PATH', 'disable'],
    ...['--config', 'GDAL_SKIP', others.filter((driver) => gdal.rasters.includes(driver)).join(',')],
    ...['--config', 'OGR_SKIP', others.filter((driver) => !gdal.rasters.includes(driver)).join(',')],
  ]
}

/** The drivers that are registered with these options, asked from GDAL itself. */
export async function registeredDrivers(gdal: Gdal, options: readonly string[]): Promise<string[]> {
  const [vectors, rasters] = await Promise.all([
    ask(gdal.ogr2ogr, ...options, '--formats'),
    ask(gdal.ogr2ogr.replace(/ogr2ogr$/, 'gdalinfo'), ...options, '--formats'),
  ])
  return [...new Set([vectors, rasters].flatMap(driverNames))].sort()
}

const places = ['/usr/bin/ogr2ogr', '/usr/local/bin/ogr2ogr']

async function ask(program: string, ...args: readonly string[]): Promise<string> {
  const options = { env: {}, timeout: askMs, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const
  return (await promisify(execFile)(program, args, options)).stdout
}

/** Lines such as `  ESRI Shapefile -vector- (rw+v): ESRI Shapefile`. */
const driverNames = (formats: string): string[] =>
  [...formats.matchAll(/^ {2}(.+?) -[a-z ,]+- \(/gm)].map(([, name]) => name!)

const askMs = 30_000
