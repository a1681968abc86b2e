import { bomLength, type CsvDialect, guessDialect, headBytes, readHead } from './csv-head.ts'
import { geojsonDialect, geojsonToCsv, maxGeojsonBytes } from './geojson-csv.ts'
import { isBinary, otherKind } from './other-kind.ts'

/** A file as a front end gives it. It is read more than once: for its types, for the upload, for a single line. */
export type SourceFile = Readonly<{
  name: string
  /** All of it; decompressed if `isGzip`. */
  read: (isGzip: boolean) => AsyncIterable<Uint8Array>
}>

export type ImportFile = Readonly<{
  isGzip: boolean
  isGeojson: boolean
  dialect: CsvDialect
  /** The beginning of `text`. */
  head: Uint8Array
  /** The first rows, including the header if there is one. */
  rows: readonly (readonly (string | null)[])[]
  /** The records: decompressed, without a byte order mark; GeoJSON as CSV. */
  text: () => AsyncIterable<Uint8Array>
}>

/** A file that is not read here, whatever is chosen for it. */
export class ImportFileError extends Error {
  readonly kind: ImportFileProblem

  constructor(kind: ImportFileProblem, message: string) {
    super(message)
    this.name = 'ImportFileError'
    this.kind = kind
  }
}

export type ImportFileProblem =
  | 'empty'
  | 'json-lines'
  | 'other-kind'
  | 'no-table'
  | 'utf-16'
  | 'not-text'
  | 'too-large'
  | 'no-header'

/** Finds out what a file is. What is chosen counts more than what is found. */
export async function openImport(source: SourceFile, chosen: Partial<CsvDialect> = {}): Promise<ImportFile> {
  if (jsonLines.test(source.name))
    throw new ImportFileError('json-lines', 'This file has one JSON document in each line.')
  const isGzip = /\.gz$/i.test(source.name) || isGzipped(await firstBytes(source.read(false), 2))
  const read = () => source.read(isGzip)
  const head = await firstBytes(read(), headBytes)
  if (head.length < headBytes && isBlank(head)) throw new ImportFileError('empty', 'This file is empty.')
  if (isGeojson(source.name, head)) {
    if (chosen.hasHeader !== undefined) throw new ImportFileError('no-header', 'GeoJSON has no header.')
    return { isGzip, ...(await openGeojson(read)) }
  }
  refuseOther(head, source.name)
  const guessed = guessDialect(head)
  const dialect = { ...guessed, ...chosen }
  return {
    isGzip,
    isGeojson: false,
    dialect,
    head: head.subarray(bomLength(head)),
    rows: readHead(head, dialect),
    text: () => withoutBom(read()),
  }
}

/** The names in the first line; null for each column without a header. */
export const headerOf = ({ rows, dialect }: Pick<ImportFile, 'rows' | 'dialect'>) =>
  dialect.hasHeader ? (rows[0] ?? []) : (rows[0] ?? []).map(() => null)

/** What would be read as a text of one column. */
function refuseOther(head: Uint8Array, name: string): void {
  const kind = otherKind(head, name)
  if (kind !== undefined && /image|PDF|web page/.test(kind))
    throw new ImportFileError('no-table', `This is ${kind}: it has no rows.`)
  if (kind !== undefined) throw new ImportFileError('other-kind', `This is ${kind}, neither CSV nor GeoJSON.`)
  const [first, second] = head
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new ImportFileError('utf-16', 'This text is UTF-16. Save it as UTF-8 first.')
  if (isBinary(head))
    throw new ImportFileError('not-text', 'This file is not text: it is neither CSV nor GeoJSON.')
}

const jsonLines = /\.(ndjson|jsonl|geojsonl|geojsons)(\.gz)?$/i

const isBlank = (head: Uint8Array) => new TextDecoder().decode(head).trim() === ''

const isGzipped = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b

/** By its name; by its first character if the name says nothing. */
function isGeojson(name: string, head: Uint8Array): boolean {
  if (/\.(geo)?json(\.gz)?$/i.test(name)) return true
  let at = bomLength(head)
  while (head[at]! <= 32) at++
  return head[at] === 0x7b && !/\.(csv|tsv|tab)(\.gz)?$/i.test(name)
}

async function openGeojson(read: () => AsyncIterable<Uint8Array>): Promise<Omit<ImportFile, 'isGzip'>> {
  const json = await wholeText(read())
  const encoder = new TextEncoder()
  const text = async function* () {
    for (const piece of geojsonToCsv(json)) yield encoder.encode(piece)
  }
  const head = await firstBytes(text(), headBytes)
  return { isGeojson: true, dialect: geojsonDialect, head, rows: readHead(head, geojsonDialect), text }
}

/** Refuses what is too large for the memory. */
async function wholeText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxGeojsonBytes)
      throw new ImportFileError('too-large', 'GeoJSON files over 256 MB are too large to be read here.')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

async function firstBytes(chunks: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const head = new Uint8Array(most)
  let length = 0
  for await (const chunk of chunks) {
    const part = chunk.subarray(0, most - length)
    head.set(part, length)
    length += part.length
    if (length === most) break
  }
  return head.subarray(0, length)
}

async function* withoutBom(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for await (const chunk of chunks) {
    yield isFirst ? chunk.subarray(bomLength(chunk)) : chunk
    isFirst = false
  }
}
