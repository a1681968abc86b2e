import type { Converter } from '../../convert/converter.ts'
import { type Gdal, onlyDrivers } from '../../convert/gdal.ts'
import { type RunningConverter, runConverter } from '../../convert/run-converter.ts'
import { sandboxDirectory } from '../../convert/sandbox.ts'
import { type FileKind, fileKinds } from './file-kinds.ts'
import type { InputFile } from './upload-files.ts'

export type ConversionWishes = Readonly<{
  /** False: coordinates stay as they are. */
  isTransformed: boolean
  /** How its text is encoded, if the file does not say so. */
  encoding?: 'CP1252' | 'RAW' | undefined
  /** Features may be of other kinds than their layer says. Then GDAL leaves curves as they are. */
  isMixed: boolean
  /** Only so many features of each layer. */
  mostFeatures?: number | undefined
}>

/** Starts to convert a file; its output is a PostgreSQL dump. */
export function convertFile(
  { gdal, sandbox, limits }: Converter,
  input: InputFile,
  wishes: ConversionWishes,
  signal: AbortSignal,
): RunningConverter {
  const args = argumentsFor(gdal, input, wishes)
  const run = runConverter(sandbox, { program: gdal.ogr2ogr, args, directory: input.folder, limits }, signal)
  run.stdin.end()
  return run
}

/** Nothing of the caller is among them: the file has a name of ours. */
function argumentsFor(gdal: Gdal, { kind, file }: InputFile, wishes: ConversionWishes): string[] {
  const driver = driverOf(kind)
  const { isTransformed, encoding, isMixed, mostFeatures } = wishes
  return [
    ...onlyDrivers(gdal, [driver, 'PGDUMP']),
    ...['--config', 'PG_USE_COPY', 'YES', '--config', 'CPL_TMPDIR', sandboxDirectory],
    ...['--config', 'OGR_PG_RETRIEVE_FID', 'NO', '--config', 'OSM_USE_CUSTOM_INDEXING', 'YES'],
    ...['-f', 'PGDUMP', '/vsistdout/', `${sandboxDirectory}/${file}`],
    ...['-lco', 'CREATE_SCHEMA=OFF', '-lco', 'DROP_TABLE=OFF', '-lco', 'SPATIAL_INDEX=NONE'],
    ...[
      '-lco',
      'LAUNDER=NO',
      '-lco',
      'EXTRACT_SCHEMA_FROM_LAYER_NAME=NO',
      '-lco',
      'PRECISION=NO',
      '-lco',
      `GEOMETRY_NAME=${dumpGeometry}`,
    ],
    ...['-dim', 'XY', '-nlt', isMixed ? 'GEOMETRY' : 'CONVERT_TO_LINEAR'],
    ...['-forceNullable', '-unsetDefault', '-nomd'],
    ...(isTransformed ? ['-t_srs', 'EPSG:4326'] : []),
    ...(mostFeatures === undefined ? [] : ['-limit', String(mostFeatures)]),
    ...(encoding ? ['-oo', `ENCODING=${encoding === 'RAW' ? '' : encoding}`] : []),
    ...(hasKey(kind) ? [] : ['-unsetFid', '-lco', 'FID=cartage_fid']),
    ...(kind === 'gpkg' ? ['-oo', 'LIST_ALL_TABLES=NO'] : []),
  ]
}

/** Names the geometry of every layer. */
export const dumpGeometry = 'cartage_geometry'

/**
 * Whether the rows of such a file have a key beside their columns. GDAL would also take the property `id` of GeoJSON and a
 * column `ogc_fid` for one, and give a number to rows where it is NULL.
 */
const hasKey = (kind: FileKind) => kind === 'gpkg' || kind === 'gdb'

function driverOf(kind: FileKind): string {
  const { driver } = fileKinds[kind]
  if (driver === undefined) throw new Error(`${kind} is not for GDAL`)
  return driver
}
