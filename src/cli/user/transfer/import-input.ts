import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import type { CsvDialect } from '../../../file-import/csv-head.ts'
import { GeojsonError } from '../../../file-import/geojson-csv.ts'
import { type ImportFile, ImportFileError, openImport } from '../../../file-import/import-file.ts'
import type { ImportPlan } from '../../../file-import/import-plan.ts'
import { isRewritten, rewriteRows } from '../../../file-import/rewrite-rows.ts'
import { FailedError, UsageError } from '../../command-error.ts'
import { statNamedFile } from '../../named-file.ts'

/** A file to import, at a path. */
export type ImportInput = ImportFile &
  Readonly<{
    bytes: number
    /** The bytes to send as planned; compressed if the service is on another machine. */
    upload: (plan: ImportPlan, isFar: boolean) => Readonly<{ stream: Readable; contentEncoding?: 'gzip' }>
  }>

/** GeoJSON that does not fit into the memory of this program. */
export class LargeGeojsonError extends UsageError {}

/** Guesses delimiter, encoding and header of a CSV file, unless they are given. */
export async function openInput(path: string, chosen: Partial<CsvDialect>): Promise<ImportInput> {
  const { size, isPipe } = path === '-' ? standardInput : await statNamedFile(path)
  if (isPipe) {
    const what = path === '-' ? 'standard input' : path
    throw new UsageError(`${what} can be read only once, and import reads twice: save it to a file`)
  }
  const read = (isGzip: boolean) => (isGzip ? unzipped(path) : readBytes(path))
  const file = await openImport({ name: basename(path), read }, chosen).catch((error: unknown) => {
    throw explained(path, error)
  })
  return { ...file, bytes: size, text: () => explainedChunks(path, file), upload: uploadOf(path, file) }
}

const standardInput = { size: 0, isPipe: true }

const uploadOf = (path: string, file: ImportFile) => (plan: ImportPlan, isFar: boolean) => {
  const isAnew = isRewritten(plan)
  if (file.isGzip && !file.isGeojson && !isAnew)
    return { stream: readBytes(path), contentEncoding: 'gzip' as const }
  const stream = Readable.from(isAnew ? rewriteRows(file.text(), plan) : file.text())
  return isFar && !file.isGeojson
    ? { stream: stream.pipe(createGzip({ level: 1 })), contentEncoding: 'gzip' as const }
    : { stream }
}

/** Such large chunks need half the CPU time of 64 KB chunks. */
const chunkBytes = 1024 * 1024

const readBytes = (path: string) => createReadStream(path, { highWaterMark: chunkBytes })

async function* unzipped(path: string): AsyncGenerator<Uint8Array> {
  const packed = readBytes(path)
  try {
    yield* packed.pipe(createGunzip({ chunkSize: chunkBytes }))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code?.startsWith('Z_') ? new FailedError(`${path} is not a complete gzip file: ${message}`) : error
  } finally {
    packed.destroy()
  }
}

/** GeoJSON is checked while it becomes CSV. */
async function* explainedChunks(path: string, file: ImportFile): AsyncGenerator<Uint8Array> {
  try {
    yield* file.text()
  } catch (error) {
    throw explained(path, error)
  }
}

function explained(path: string, error: unknown): unknown {
  if (error instanceof GeojsonError) return new FailedError(`${path}: ${error.message}`)
  if (!(error instanceof ImportFileError)) return error
  switch (error.kind) {
    case 'json-lines':
      return new UsageError(
        `${path}: import reads CSV, TSV and GeoJSON in one document (.geojson, .json), not this type`,
      )
    case 'no-header':
      return new UsageError(`${path}: GeoJSON has no header`)
    case 'too-large':
      return new LargeGeojsonError(
        `${path} is GeoJSON of more than 256 MB, which the service reads: let its name end in .geojson`,
      )
    case 'utf-16':
      return new FailedError(`${path} is not text in an encoding that COPY reads: save it as UTF-8`)
    case 'empty':
      return new FailedError(`${path} is empty`)
    case 'no-table':
      return new FailedError(`${path}: ${error.message}`)
    case 'other-kind':
    case 'not-text':
      return new FailedError(`${path}: ${error.message} ogr2ogr can load many other formats`)
  }
}
