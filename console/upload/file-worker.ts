import { bomLength, type CsvDialect } from '../../src/file-import/csv-head.ts'
import { findLine } from '../../src/file-import/find-line.ts'
import { GeojsonError } from '../../src/file-import/geojson-csv.ts'
import { type ImportFile, ImportFileError, openImport } from '../../src/file-import/import-file.ts'
import type { ImportPlan } from '../../src/file-import/import-plan.ts'
import { readFirstTypes, readTypes } from '../../src/file-import/read-types.ts'
import { rewriteRows } from '../../src/file-import/rewrite-rows.ts'
import type { FileHead, FileProblem, FromFileWorker, ToFileWorker, UploadBody } from './file-protocol.ts'

/** Reads a file of any size: its format, the types of its columns, and single lines. */

let opened: ImportFile

self.onmessage = ({ data }: MessageEvent<ToFileWorker>) => {
  if (data.kind === 'read') void readFile(data.file, data.dialect).catch(tellProblem)
  else if (data.kind === 'rewrite')
    void rewrite(data.plan).then((body) => tell({ kind: 'rewritten', body }), tellProblem)
  else void lineOf(data.line).then((text) => tell({ kind: 'line', line: data.line, text }), tellProblem)
}

const tell = (message: FromFileWorker) => postMessage(message)

async function readFile(file: File, chosen: CsvDialect | undefined): Promise<void> {
  const found = await openImport({ name: file.name, read: (isGzip) => chunksOf(file, isGzip) }, chosen)
  const { isGeojson, dialect, rows } = found
  const body = await bodyOf(file, found)
  opened = isGeojson ? { ...found, text: () => chunksOf(body, false) } : found
  const head: FileHead = { body, isGzip: found.isGzip && !isGeojson, isGeojson, dialect, rows }
  tell({ kind: 'head', head, reading: readFirstTypes(opened) })

  let toldAt = performance.now()
  const reading = await readTypes(opened, (soFar) => {
    if (performance.now() - toldAt < tellMs) return
    toldAt = performance.now()
    tell({ kind: 'reading', reading: soFar() })
  })
  tell({ kind: 'reading', reading })
}

const tellMs = 200

/** The bytes to send. A Blob may be larger than the memory. */
async function bodyOf(file: File, { isGzip, isGeojson, text }: ImportFile): Promise<Blob> {
  if (isGeojson) return blobOf(text())
  return isGzip ? file : file.slice(bomLength(new Uint8Array(await file.slice(0, 3).arrayBuffer())))
}

async function blobOf(chunks: AsyncIterable<Uint8Array>): Promise<Blob> {
  const parts: Blob[] = []
  for await (const chunk of chunks) parts.push(new Blob([chunk as Uint8Array<ArrayBuffer>]))
  return new Blob(parts)
}

async function rewrite(plan: ImportPlan): Promise<UploadBody> {
  return { body: await blobOf(rewriteRows(opened.text(), plan)), isGzip: false }
}

/** Reads large chunks: the stream of a file has small ones and is many times slower. */
async function* chunksOf(body: Blob, isGzip: boolean): AsyncGenerator<Uint8Array> {
  if (isGzip) return yield* chunksIn(body.stream().pipeThrough(new DecompressionStream('gzip')))
  for (let at = 0; at < body.size; at += chunkBytes) {
    yield new Uint8Array(await body.slice(at, at + chunkBytes).arrayBuffer())
  }
}

const chunkBytes = 4 * 1024 * 1024

async function* chunksIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

async function lineOf(line: number): Promise<string> {
  const text = (await findLine(opened, line))?.after ?? ''
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text
}

const mostShown = 1000

function tellProblem(error: unknown): void {
  const isOther = error instanceof ImportFileError && !['empty', 'utf-16', 'no-table'].includes(error.kind)
  const kind: FileProblem['kind'] = isOther ? 'other-format' : 'unreadable'
  const said = error instanceof Error ? error.message : String(error)
  const isOurs = error instanceof ImportFileError || error instanceof GeojsonError
  tell({ kind: 'problem', problem: { kind, message: isOurs ? said : `The file could not be read: ${said}` } })
}
