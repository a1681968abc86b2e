import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ConverterState } from '../../convert/converter.ts'
import { type ConverterEnd, type RunningConverter, runConverter } from '../../convert/run-converter.ts'
import { sandboxDirectory } from '../../convert/sandbox.ts'
import { packageFile } from '../../files/package-file.ts'
import { type ImportErrorCode, ImportFailure } from '../import-failure.ts'
import { placeOf, type Stage } from '../load/loading.ts'
import type { ConversionWishes } from './converter.ts'
import type { InputFile } from './upload-files.ts'

/** A geometry of the file has a third dimension or curves: PostGIS has to change it. */
export class NotFlat extends ImportFailure {}

/** Starts to read a Parquet or Arrow file in the sandbox. The output is a PostgreSQL dump, as GDAL's is. */
export function readColumns(
  { sandbox, limits }: ConverterState,
  input: InputFile,
  { isTransformed }: ConversionWishes,
  signal: AbortSignal,
): RunningConverter {
  if (!sandbox) throw new Error('no sandbox')
  const { program, code, libraries } = programFiles()
  const isApart = sandbox !== 'none'
  const [node, script, folder] = isApart
    ? [sandboxNode, `${sandboxCode}/${program}`, sandboxDirectory]
    : [process.execPath, join(code, program), input.folder]
  const args = [
    // Rows are read in batches; buffers are not part of this.
    ...['--max-old-space-size=512', '--disallow-code-generation-from-strings', '--no-warnings', script],
    ...[join(folder, input.file), input.kind, isTransformed ? 'flat' : 'raw'],
    String(maxRowBytes(input.bytes, limits.fileBytes)),
  ]
  const readable = isApart
    ? ([[process.execPath, sandboxNode], [code, sandboxCode], ...libraries] as const)
    : []
  const command = { program: node, args, directory: input.folder, readable, memory: 'data' as const, limits }
  const run = runConverter(sandbox, command, signal)
  run.stdin.end()
  return run
}

/** A file of a few bytes can say that a value comes a billion times. The limits of archives, but for small tables. */
function maxRowBytes(fileBytes: number, unpackedBytes: number): number {
  const most = Math.max(fileBytes * maxRatio, alwaysAllowed)
  return unpackedBytes > 0 ? Math.min(most, unpackedBytes) : most
}

const maxRatio = 200
const alwaysAllowed = 256 * 1024 ** 2

const sandboxNode = '/program/node'
const sandboxCode = '/program/code'
const sandboxLibraries = '/program/node_modules'

/** The program and what it loads: bundled but for one library, or the sources with all. */
function programFiles() {
  const isSource = import.meta.dirname.includes('/src/imports')
  const code = packageFile(isSource ? 'src/imports/programs' : 'dist/imports/programs')
  const program = isSource ? 'read-columns.mjs' : 'read-columns.js'
  const parquet = packageFolder('parquet-wasm')
  const libraries: readonly (readonly [string, string])[] = isSource
    ? [[dirname(parquet), sandboxLibraries]]
    : [[parquet, `${sandboxLibraries}/parquet-wasm`]]
  try {
    accessSync(join(code, program), constants.R_OK)
  } catch (error) {
    throw new ImportFailure(1002, 'This kind of file cannot be read on this server: its reader is missing', {
      cause: error,
    })
  }
  return { program, code, libraries }
}

function packageFolder(name: string): string {
  const entry = createRequire(import.meta.url).resolve(name)
  const end = entry.lastIndexOf(`/node_modules/${name}/`)
  return entry.slice(0, end + `/node_modules/${name}`.length)
}

/** Throws if the program has not read the whole file. */
export function judgeColumns(
  { exitCode, signal, stderr }: Pick<ConverterEnd, 'exitCode' | 'signal' | 'stderr'>,
  input: InputFile,
): void {
  if (exitCode === 0 && !/^ERROR /m.test(stderr)) return
  if (exitCode === notFlatCode) throw new NotFlat(2001, `${placeOf(input)}A geometry is not flat`)
  const [, code = '', text = ''] = /^ERROR (\d+): (.*)$/m.exec(stderr) ?? []
  const isMemory =
    /out of memory|allocation failed|Array buffer allocation|unreachable|memory access/i.test(stderr) ||
    signal !== null ||
    [132, 133, 134, 137, 139].includes(exitCode ?? 0)
  if (isMemory && (code === '' || code === '2001'))
    throw new ImportFailure(6666, `${placeOf(input)}The file is broken, or needs too much memory`)
  throw new ImportFailure(
    codes.find((known) => String(known) === code) ?? 2001,
    `${placeOf(input)}${sentence(text || `The reader ended with ${exitCode}`)}`,
  )
}

const sentence = (text: string) =>
  text.replaceAll(`${sandboxDirectory}/`, '').replace(/^[a-z]/, (letter) => letter.toUpperCase())

const notFlatCode = 4
const codes: readonly ImportErrorCode[] = [2001, 2006, 3008, 6666]

/** The columns, as the table calls them, whose times were rounded. */
export function roundedColumns(words: string, [stage]: readonly Stage[]): string[] {
  const places = /^ROUNDED ([\d,]+)$/m.exec(words)?.[1]?.split(',') ?? []
  return places.flatMap((place) => stage?.columns[Number(place)]?.name ?? [])
}
