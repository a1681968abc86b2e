import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip, createGzip, gunzipSync } from 'node:zlib'
import {
  bomLength,
  type CsvDialect,
  type Encoding,
  guessDialect,
  headBytes,
  readHead,
} from '../../../file-import/csv-head.ts'
import {
  GeojsonError,
  geojsonDialect,
  geojsonToCsv,
  maxGeojsonBytes,
} from '../../../file-import/geojson-csv.ts'
import { FailedError, UsageError } from '../../command-error.ts'
import { statNamedFile } from '../../named-file.ts'

/** A file to import. It is read more than once: for the types of its columns, then for the upload. */
export type ImportFile = Readonly<{
  bytes: number
  dialect: CsvDialect
  /** The names of the columns in the file; null for each without a header. */
  header: readonly (string | null)[]
  /** Decompressed. */
  text: () => AsyncIterable<Uint8Array>
  /** The bytes to send; compressed if the service is on another machine. */
  upload: (isFar: boolean) => Readonly<{ stream: Readable; contentEncoding?: 'gzip' }>
}>

/** Guesses delimiter, encoding and header of a CSV file, unless they are given. */
export async function openImportFile(
  path: string,
  encoding: string | undefined,
  hasHeader: boolean | undefined,
): Promise<ImportFile> {
  const { size, isPipe } = path === '-' ? standardInput : await statNamedFile(path)
  if (isPipe) {
    const what = path === '-' ? 'standard input' : path
    throw new UsageError(`${what} can be read only once, and import reads twice: save it to a file`)
  }
  if (otherJson.test(path))
    throw new UsageError(
      `${path}: import reads CSV, TSV and GeoJSON in one document (.geojson, .json), not this type`,
    )
  if (/\.(geo)?json$/i.test(path)) {
    if (hasHeader !== undefined) throw new UsageError(`${path}: GeoJSON has no header`)
    return openGeojson(path, size)
  }
  const isGzip = /\.gz$/i.test(path)
  const head = await readStart(path, isGzip)
  const guessed = guessDialect(head)
  if (!guessed) throw new FailedError(`${path} is not text in an encoding that COPY reads: save it as UTF-8`)
  const dialect: CsvDialect = {
    ...guessed,
    ...(encoding === undefined ? {} : { encoding: encoding.toUpperCase() as Encoding }),
    ...(hasHeader === undefined ? {} : { hasHeader }),
  }
  const [first = []] = readHead(head, dialect)
  const raw = () => createReadStream(path, { highWaterMark: chunkBytes, start: isGzip ? 0 : bomLength(head) })
  return {
    bytes: size,
    dialect,
    header: dialect.hasHeader ? first : first.map(() => null),
    text: () => (isGzip ? unzipped(path, raw()) : raw()),
    upload: (isFar) => {
      if (isGzip) return { stream: raw(), contentEncoding: 'gzip' }
      return isFar
        ? { stream: raw().pipe(createGzip({ level: 1 })), contentEncoding: 'gzip' }
        : { stream: raw() }
    },
  }
}

const standardInput = { size: 0, isPipe: true }

/** JSON that import cannot read: one document in each line, or compressed. */
const otherJson = /\.(ndjson|jsonl|geojsonl|geojsons)(\.gz)?$|\.(geo)?json\.gz$/i

/** Such large chunks need half the CPU time of 64 KB chunks. */
const chunkBytes = 1024 * 1024

async function readStart(path: string, isGzip: boolean): Promise<Uint8Array> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    const start = buffer.subarray(0, bytesRead)
    // Only the start of the file is read, so the end of the gzip stream is missing.
    return isGzip ? gunzipSync(start, { finishFlush: 2 }).subarray(0, headBytes) : start
  } catch (error) {
    throw gzipError(path, error)
  } finally {
    await file.close()
  }
}

async function* unzipped(path: string, packed: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* packed.pipe(createGunzip({ chunkSize: chunkBytes }))
  } catch (error) {
    throw gzipError(path, error)
  }
}

function gzipError(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  return code?.startsWith('Z_') ? new FailedError(`${path} is not a complete gzip file: ${message}`) : error
}

async function openGeojson(path: string, bytes: number): Promise<ImportFile> {
  if (bytes > maxGeojsonBytes)
    throw new UsageError(`${path} is too large for GeoJSON: load it with ogr2ogr, or as CSV`)
  const json = await readFile(path, 'utf8')
  const pieces = () => csvPieces(path, json)
  const [first = new Uint8Array()] = pieces()
  const [header = []] = readHead(first, geojsonDialect)
  const text = () => Readable.from(pieces())
  return { bytes, dialect: geojsonDialect, header, text, upload: () => ({ stream: text() }) }
}

function* csvPieces(path: string, json: string): Generator<Uint8Array> {
  try {
    for (const text of geojsonToCsv(json)) yield Buffer.from(text)
  } catch (error) {
    throw error instanceof GeojsonError ? new FailedError(`${path}: ${error.message}`) : error
  }
}
