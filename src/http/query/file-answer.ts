import { createWriteStream } from 'node:fs'
import { mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Principal } from '../../auth/account.ts'
import { ConversionError } from '../../convert/convert-rows.ts'
import { type ConverterState, openConverter } from '../../convert/converter.ts'
import { type GdalFormat, gdalFormats, rowsFile } from '../../convert/gdal-formats.ts'
import { writeFile } from '../../convert/write-file.ts'
import { errors } from '../../errors.ts'
import { isAlive } from '../../postgres/cluster/processes.ts'
import type { AbortLike } from '../../postgres/pools/interruption.ts'
import { Slots } from '../../postgres/pools/slots.ts'
import { answerQuery, describeResult, type Queries, type RowReceiver } from '../../query/answer-query.ts'
import { FileRows } from '../../query/files/file-rows.ts'
import { fileRules } from '../../query/files/file-rules.ts'
import { type FileShape, fileShape } from '../../query/files/file-shape.ts'
import type { Query } from '../../query/query.ts'

/** A file that is deleted already: it is gone when it is closed. */
export type SpooledFile = Readonly<{
  bytes: number
  stream: () => NodeJS.ReadableStream
  /** What the file changes compared with the rows of the query. */
  warnings: readonly string[]
}>

type FileQuery = Query & { format: GdalFormat }

/** Files that GDAL writes from the rows of a query, two at a time in a process and one for each account. */
export class FileAnswers {
  readonly #slots = new Slots({ total: 2, perRole: 1, perAccount: 1, anonymousPerAccount: 1 })
  readonly #isUnprotected: boolean
  #converter: Promise<ConverterState> | undefined

  /** `isUnprotected`: the operator wants no sandbox. */
  constructor(isUnprotected: boolean) {
    this.#isUnprotected = isUnprotected
  }

  /** Spools the rows, converts them, and leaves no file behind, whatever happens. */
  async make(
    queries: Queries,
    principal: Principal,
    query: FileQuery,
    { gone, reader }: Pick<RowReceiver, 'gone' | 'reader'>,
  ): Promise<SpooledFile> {
    this.#converter ??= findConverter(this.#isUnprotected)
    const converter = await this.#converter
    if ('missing' in converter)
      throw errors.badRequest(`The format ${query.format} is disabled on this server: ${converter.missing}`)
    const holder = { account: principal.account.username, role: principal.account.username }
    const leave = await this.#slots.take(holder, waitMs, () => errors.tooManyCopies(60), gone)
    const directory = await mkdtemp(join(tmpdir(), `cartage-export-${process.pid}-`)).catch((error) => {
      leave()
      throw error
    })
    const ending = stopAfter(limitMs, gone)
    try {
      const spool = join(directory, rowsFile)
      const { warnings, ...table } = await spoolRows(
        queries,
        principal,
        query,
        { signal: ending.signal, reader },
        spool,
      )
      const path = await writeFile({
        ...converter,
        directory,
        format: query.format,
        table,
        layer: layerOf(query.filename),
        signal: ending.signal,
      })
      return { ...(await openSpooled(path)), warnings }
    } catch (error) {
      if (ending.isOver()) throw errors.conversionFailed(query.format, 'it took longer than 10 minutes')
      if (!(error instanceof ConversionError)) throw error
      throw error.isStopped ? errors.clientLeft() : errors.conversionFailed(query.format, error.message)
    } finally {
      ending.clear()
      await rm(directory, { recursive: true, force: true })
      leave()
    }
  }
}

async function findConverter(isUnprotected: boolean): Promise<ConverterState> {
  await removeOrphans().catch(() => undefined)
  return openConverter(isUnprotected, {
    timeMs: limitMs,
    cpuSeconds: limitMs / 1000,
    memoryBytes: maxBytes,
    fileBytes: maxBytes,
  })
}

/** Directories of processes that were killed. */
async function removeOrphans(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(/^cartage-export-(\d+)-/.exec(name)?.[1] ?? Number.NaN)
    if (Number.isNaN(pid) || pid === process.pid || isAlive(pid)) continue
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined)
  }
}

type SpoolClient = Readonly<{ signal: AbortSignal; reader: RowReceiver['reader'] }>

/** Writes the rows as CSV for GDAL. */
async function spoolRows(
  queries: Queries,
  principal: Principal,
  query: FileQuery,
  client: SpoolClient,
  path: string,
): Promise<ReturnType<FileRows['table']>> {
  const { format, skippedFields } = query
  const described = await describeResult(queries, principal, query, {
    gone: client.signal as AbortLike,
    reader: client.reader,
  })
  const shape = fileShape(fileRules[format], described, skippedFields)
  if (shape.geometry === undefined && gdalFormats[format].needsGeometry)
    throw errors.badRequest(`The format ${format} needs a geometry column, such as the_geom`)
  return writeRows(queries, principal, query, shape, client, path)
}

async function writeRows(
  queries: Queries,
  principal: Principal,
  query: FileQuery,
  shape: FileShape,
  { signal, reader }: SpoolClient,
  path: string,
): Promise<ReturnType<FileRows['table']>> {
  const file = createWriteStream(path, { signal })
  const written = finished(file)
  written.catch(() => undefined)
  let isOpen = false
  const open = () => {
    isOpen = true
    return { sink: limited(file), wait: noWait }
  }
  const { format } = query
  let rows: FileRows | undefined
  const newRows = () => {
    rows = new FileRows({ format, shape })
    return rows
  }
  try {
    const client = { gone: signal as AbortLike, open, reader, format: newRows }
    const answer = await answerQuery(queries, principal, { ...query, around: shape.around }, client)
    if (!isOpen) file.end(answer ?? '', 'latin1')
    await written
    return rows!.table()
  } catch (error) {
    file.destroy()
    throw file.bytesWritten > maxBytes ? tooLarge(format) : error
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
  return { bytes: size, stream: () => file.createReadStream({ highWaterMark: 256 * 1024 }) }
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

const noWait = { begin: () => undefined, end: () => undefined }
const limitMs = 10 * 60_000
const waitMs = 10 * 60_000
const maxBytes = 2 * 1024 ** 3
