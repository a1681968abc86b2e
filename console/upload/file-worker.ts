import {
  bomLength,
  type CsvDialect,
  encodings,
  guessDialect,
  headBytes,
  readHead,
} from '../../src/file-import/csv-head.ts'
import {
  GeojsonError,
  geojsonDialect,
  geojsonToCsv,
  maxGeojsonBytes,
} from '../../src/file-import/geojson-csv.ts'
import { TypeInference } from '../../src/file-import/infer-types.ts'
import type { FileHead, FileProblem, FileReading, FromFileWorker, ToFileWorker } from './file-protocol.ts'

/** Reads a file of any size: its format, the types of its columns, and single lines. */

let source: FileHead

self.onmessage = ({ data }: MessageEvent<ToFileWorker>) => {
  if (data.kind === 'read') void readFile(data.file, data.dialect).catch(tellProblem)
  else
    void lineOf(source, data.line).then((text) => tell({ kind: 'line', line: data.line, text }), tellProblem)
}

const tell = (message: FromFileWorker) => postMessage(message)

async function readFile(file: File, chosen: CsvDialect | undefined): Promise<void> {
  source = await openFile(file, chosen)
  const first = new TypeInference(source.dialect)
  const head = await firstBytes(source)
  first.push(head.subarray(0, head.lastIndexOf(10) + 1))
  tell({ kind: 'head', head: source, reading: readingOf(first, 0, false) })

  const inference = new TypeInference(source.dialect)
  let bytes = 0
  let toldAt = performance.now()
  for await (const chunk of chunksOf(source)) {
    inference.push(bytes === 0 ? chunk.subarray(bomLength(chunk)) : chunk)
    bytes += chunk.length
    if (inference.isOver) break
    if (performance.now() - toldAt < tellMs) continue
    toldAt = performance.now()
    tell({ kind: 'reading', reading: readingOf(inference, bytes, false) })
  }
  inference.end()
  tell({ kind: 'reading', reading: readingOf(inference, bytes, true) })
}

const tellMs = 200

const readingOf = (inference: TypeInference, bytes: number, isWhole: boolean): FileReading => ({
  bytes,
  isWhole,
  inference: inference.result,
  isEncodingRight: inference.isEncodingRight,
})

async function openFile(file: File, chosen: CsvDialect | undefined): Promise<FileHead> {
  const isGzip = await startsWith(file, 0x1f, 0x8b)
  const head = await firstBytes({ body: file, isGzip })
  const isGeojson = head[skipSpace(head)] === 0x7b
  if (isGeojson) return { ...csvOf(await textOf(file, isGzip)), isGzip: false, isGeojson, ...geojsonForm }
  const dialect = chosen ?? guessDialect(head)
  if (!dialect) throw new NotCsv('This file is neither CSV nor GeoJSON. Save UTF-16 text as UTF-8 first.')
  const body = isGzip ? file : file.slice(bomLength(head))
  return { body, isGzip, isGeojson, dialect, rows: readHead(head, dialect) }
}

class NotCsv extends Error {}

const startsWith = async (file: Blob, ...wanted: number[]) => {
  const found = new Uint8Array(await file.slice(0, wanted.length).arrayBuffer())
  return wanted.every((byte, at) => found[at] === byte)
}

const skipSpace = (bytes: Uint8Array) => {
  let at = bomLength(bytes)
  while (bytes[at]! <= 32) at++
  return at
}

const geojsonForm = { dialect: geojsonDialect }

/** The whole text. Refuses files that are too large for memory. */
async function textOf(file: File, isGzip: boolean): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of chunksOf({ body: file, isGzip })) {
    bytes += chunk.length
    if (bytes > maxGeojsonBytes) throw new NotCsv('GeoJSON files over 256 MB are too large for the browser.')
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}

function csvOf(text: string): Pick<FileHead, 'body' | 'rows'> {
  const pieces = [...geojsonToCsv(text)]
  const head = new TextEncoder().encode(pieces.slice(0, 2).join('').slice(0, headBytes))
  return { body: new Blob(pieces), rows: readHead(head, geojsonDialect) }
}

type Source = Pick<FileHead, 'body' | 'isGzip'>

/** Reads large chunks: the stream of a file has small ones and is many times slower. */
async function* chunksOf({ body, isGzip }: Source): AsyncGenerator<Uint8Array> {
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

async function firstBytes(from: Source): Promise<Uint8Array> {
  const head = new Uint8Array(headBytes)
  let length = 0
  for await (const chunk of chunksOf(from)) {
    const part = chunk.subarray(0, headBytes - length)
    head.set(part, length)
    length += part.length
    if (length === headBytes) break
  }
  return head.subarray(0, length)
}

/** A line, counted as by COPY, cut after 1,000 characters. */
async function lineOf(from: FileHead, wanted: number): Promise<string> {
  const decoder = new TextDecoder(encodings[from.dialect.encoding])
  let line = 1
  let text = ''
  for await (const chunk of chunksOf(from)) {
    let at = 0
    while (line < wanted && at < chunk.length) {
      const end = chunk.indexOf(10, at)
      at = end < 0 ? chunk.length : end + 1
      if (end >= 0) line++
    }
    if (line < wanted) continue
    const end = chunk.indexOf(10, at)
    text += decoder.decode(chunk.subarray(at, end < 0 ? Math.min(chunk.length, at + mostShown) : end), {
      stream: true,
    })
    if (end >= 0 || text.length >= mostShown) break
  }
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text.replace(/\r$/, '')
}

const mostShown = 1000

function tellProblem(error: unknown): void {
  const kind: FileProblem['kind'] = error instanceof NotCsv ? 'other-format' : 'unreadable'
  const said = error instanceof Error ? error.message : String(error)
  const message =
    error instanceof NotCsv || error instanceof GeojsonError ? said : `The file could not be read: ${said}`
  tell({ kind: 'problem', problem: { kind, message } })
}
