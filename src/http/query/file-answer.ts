import { createWriteStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Principal } from '../../auth/account.ts'
import { ConversionError } from '../../convert/convert-rows.ts'
import { type Converter, type ConverterState, openConverter } from '../../convert/converter.ts'
import { explainDiskError } from '../../convert/disk-error.ts'
import { type GdalFormat, rowsFile } from '../../convert/gdal-formats.ts'
import { writeFile } from '../../convert/write-file.ts'
import { errors } from '../../errors.ts'
import { makeWorkFolder } from '../../postgres/dump/work-folder.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { answerQuery, describeResult, type Queries, type RowReceiver } from '../../query/answer-query.ts'
import { FileRows } from '../../query/files/file-rows.ts'
import { fileRules, type SpooledFormat } from '../../query/files/file-rules.ts'
import { ewkbColumn, type FileShape, fileShape } from '../../query/files/file-shape.ts'
import { geometryMissing } from '../../query/geometry-column.ts'
import type { Query } from '../../query/query.ts'
import type { RowFormat } from '../../query/rows/row-format.ts'
import { ShapeRows } from '../../query/shapefile/shape-rows.ts'
import { writeShapefiles } from '../../query/shapefile/write-shapefiles.ts'
import type { FileTurns } from './file-turns.ts'

/** A file that is deleted already: it is gone when it is closed. */
export type SpooledFile = Readonly<{
  bytes: number
  stream: () => NodeJS.ReadableStream
  /** What the file changes compared with the rows of the query. */
  warnings: readonly string[]
  close: () => Promise<void>
}>

export type FileClient = Pick<RowReceiver, 'gone' | 'reader'> &
  Readonly<{
    /** Sends the file. */
    deliver: (file: SpooledFile) => Promise<void>
  }>

type FileQuery = Query & { format: SpooledFormat }

/** Files that are written from the spooled rows of a query. */
export class FileAnswers {
  readonly #turns: FileTurns
  readonly #isUnprotected: boolean
  #converter: Promise<ConverterState> | undefined

  /** `isUnprotected`: the operator wants no sandbox. */
  constructor(turns: FileTurns, isUnprotected: boolean) {
    this.#turns = turns
    this.#isUnprotected = isUnprotected
  }

  /** Spools the rows, converts them, sends the file, and leaves no file behind, whatever happens. */
  async send(queries: Queries, principal: Principal, query: FileQuery, client: FileClient): Promise<void> {
    const { gone, reader, deliver } = client
    const write = query.format === 'shp' ? writeShp : await this.#gdalWriter(query.format)
    await this.#turns.take(principal, gone, async (written) => {
      const file = await make({ queries, principal, query }, write, gone, reader)
      try {
        written(file.bytes)
        await deliver(file)
      } finally {
        await file.close()
      }
    })
  }

  async #gdalWriter(format: GdalFormat): Promise<Writer> {
    this.#converter ??= findConverter(this.#isUnprotected)
    const converter = await this.#converter
    if ('missing' in converter)
      throw errors.badRequest(`The format ${format} is disabled on this server: ${converter.missing}`)
    return (spooling) => writeByGdal(spooling, format, converter)
  }
}

/** The file is complete, and its rows are deleted. */
async function make(
  asked: Pick<Spooling, 'queries' | 'principal' | 'query'>,
  write: Writer,
  gone: AbortLike,
  reader: RowReceiver['reader'],
): Promise<SpooledFile> {
  const { format } = asked.query
  const directory = await makeWorkFolder('export')
  const ending = stopAfter(limitMs, gone)
  try {
    const { path, warnings } = await write({ ...asked, client: { signal: ending.signal, reader }, directory })
    return { ...(await openSpooled(path)), warnings }
  } catch (error) {
    if (ending.isOver()) throw errors.conversionFailed(format, 'it took longer than 10 minutes')
    if (!(error instanceof ConversionError)) throw ending.signal.aborted ? errors.clientLeft() : error
    throw error.isStopped ? errors.clientLeft() : errors.conversionFailed(format, error.message)
  } finally {
    ending.clear()
    await rm(directory, { recursive: true, force: true })
  }
}

type Spooling = Readonly<{
  queries: Queries
  principal: Principal
  query: FileQuery
  client: SpoolClient
  directory: string
}>

type WrittenFile = Readonly<{ path: string; warnings: readonly string[] }>
type Writer = (spooling: Spooling) => Promise<WrittenFile>

async function writeByGdal(
  spooling: Spooling,
  format: GdalFormat,
  converter: Converter,
): Promise<WrittenFile> {
  const { query, client, directory } = spooling
  const shape = await shapeOf(spooling)
  const rows = await spoolRows(spooling, shape, rowsFile, () => new FileRows({ format, shape }))
  const { warnings, ...table } = rows.table()
  const layer = layerOf(query.filename)
  const path = await writeFile({ ...converter, directory, format, table, layer, signal: client.signal })
  return { path, warnings }
}

async function writeShp(spooling: Spooling): Promise<WrittenFile> {
  const { query, client, directory } = spooling
  const shape = await shapeOf(spooling, ewkbColumn)
  const rows = await spoolRows(spooling, shape, shapesFile, () => new ShapeRows(shape))
  const table = rows.table()
  const spool = join(directory, shapesFile)
  const name = layerOf(query.filename)
  const path = await writeShapefiles({ directory, spool, table, name, signal: client.signal })
  return { path, warnings: table.warnings }
}

const findConverter = (isUnprotected: boolean): Promise<ConverterState> =>
  openConverter(isUnprotected, {
    timeMs: limitMs,
    cpuSeconds: limitMs / 1000,
    memoryBytes: maxBytes,
    fileBytes: maxBytes,
  })

type SpoolClient = Readonly<{ signal: AbortSignal; reader: RowReceiver['reader'] }>

async function shapeOf(
  { queries, principal, query, client }: Spooling,
  geometryList?: Parameters<typeof fileShape>[3],
): Promise<FileShape> {
  const { signal, reader } = client
  const described = await describeResult(queries, principal, query, { gone: signal as AbortLike, reader })
  const { format, skippedFields } = query
  const rules = fileRules[format]
  const shape = fileShape(rules, described, skippedFields, geometryList)
  if (shape.geometry === undefined && rules.needsGeometry)
    throw geometryMissing(format, described, skippedFields)
  return shape
}

/** Writes the rows into a file of the directory. */
async function spoolRows<T extends RowFormat>(
  { queries, principal, query, client, directory }: Spooling,
  { around }: FileShape,
  name: string,
  newRows: () => T,
): Promise<T> {
  const { signal, reader } = client
  const file = createWriteStream(join(directory, name), { signal })
  const written = finished(file)
  written.catch(() => undefined)
  let isOpen = false
  const open = () => {
    isOpen = true
    return { sink: limited(file), wait: noWait }
  }
  let rows: T | undefined
  const format = () => {
    // The statement may have been run on a replica first.
    rows = newRows()
    return rows
  }
  try {
    const answer = await answerQuery(
      queries,
      principal,
      { ...query, around },
      { gone: signal as AbortLike, open, reader, format },
    )
    if (!isOpen) file.end(answer ?? '', 'latin1')
    await written
    return rows!
  } catch (error) {
    file.destroy()
    throw file.bytesWritten > maxBytes ? tooLarge(query.format) : explainDiskError(error)
  }
}

/** Ends a file that has become too long; RLIMIT does the same for the converter. */
function limited(file: Writable & { bytesWritten: number }): Writable {
  file.on('drain', () => {
    if (file.bytesWritten > maxBytes) file.destroy(new Error('too large'))
  })
  return file
}

const tooLarge = (format: string) => errors.conversionFailed(format, 'the rows take more than 2 GB')

async function openSpooled(path: string): Promise<Omit<SpooledFile, 'warnings'>> {
  const file = await open(path)
  const { size } = await file.stat()
  return {
    bytes: size,
    stream: () => file.createReadStream({ highWaterMark: 256 * 1024 }),
    close: () => file.close(),
  }
}

function stopAfter(ms: number, gone: AbortLike) {
  const ending = new AbortController()
  let isOver = false
  const leave = () => ending.abort(errors.clientLeft())
  const timer = setTimeout(() => {
    isOver = true
    leave()
  }, ms)
  if (gone.aborted) leave()
  gone.addEventListener('abort', leave)
  const clear = () => {
    clearTimeout(timer)
    gone.removeEventListener('abort', leave)
  }
  return { signal: ending.signal, isOver: () => isOver, clear }
}

/** No text of the caller is an argument of the converter, but for such a name. */
function layerOf(filename: string | undefined): string {
  const name = (filename ?? '').replace(/\.\w+$/, '')
  return /^[A-Za-z][A-Za-z0-9_]{0,62}$/.test(name) ? name : 'rows'
}

const shapesFile = 'shapes'
const noWait = { begin: () => undefined, end: () => undefined }
const limitMs = 10 * 60_000
const maxBytes = 2 * 1024 ** 3
