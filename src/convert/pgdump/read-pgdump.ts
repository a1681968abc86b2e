import { type DumpStatement, mayBegin, readStatement } from './statements.ts'

export type DumpColumn = Readonly<{ name: string; type: string }>

/** A layer as the converter describes it. All names are the file's own: text, not SQL. */
export type DumpLayer = Readonly<{
  name: string
  /** The column of its ids; in the rows only if the file has such a column. */
  fid: string
  columns: readonly DumpColumn[]
  /** The first one. `srid` is 0 or less if the file does not tell. */
  geometry: Readonly<{ column: string; srid: number }> | undefined
}>

export type DumpEvent =
  /** Rows of a layer follow. A layer may come more than once. */
  | Readonly<{ kind: 'copy'; layer: DumpLayer; columns: readonly string[] }>
  /** A piece of rows in COPY's text format; not always whole ones. `rows` end in it. */
  | Readonly<{ kind: 'rows'; bytes: Buffer; rows: number }>
  | Readonly<{ kind: 'copied' }>
  /** At the end: a layer without rows. */
  | Readonly<{ kind: 'empty'; layer: DumpLayer }>

/** The output of the converter is not what its PGDUMP driver writes. */
export class PgDumpError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PgDumpError'
  }
}

/** Reads what `ogr2ogr -f PGDUMP` writes. Anything else throws a PgDumpError. Memory: one statement, one chunk. */
export async function* readPgDump(chunks: AsyncIterable<Buffer>): AsyncGenerator<DumpEvent> {
  const reader = new DumpReader()
  for await (const chunk of chunks) yield* reader.push(chunk)
  yield* reader.end()
}

type OpenLayer = {
  name: string
  fid: string
  columns: DumpColumn[]
  geometry: DumpLayer['geometry']
  hasRows: boolean
}

class DumpReader {
  readonly #layers = new Map<string, OpenLayer>()
  /** Outside of rows: what has no end yet. Inside: the last bytes, which may begin the end mark. */
  #pending: Buffer = Buffer.alloc(0)
  #isInRows = false
  #isOver = false
  #isNextEscaped = false
  #lineBytes = 0;

  *push(chunk: Buffer): Generator<DumpEvent> {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    while (this.#pending.length > 0) {
      const before = this.#pending.length
      const wasInRows = this.#isInRows
      yield* this.#isInRows ? this.#takeRows() : this.#takeStatement()
      if (this.#pending.length === before && this.#isInRows === wasInRows) return
    }
  }

  *end(): Generator<DumpEvent> {
    if (this.#isInRows || this.#pending.length > 0 || !this.#isOver)
      throw new PgDumpError('the output ends in the middle')
    for (const layer of this.#layers.values()) if (!layer.hasRows) yield { kind: 'empty', layer }
  }

  *#takeStatement(): Generator<DumpEvent> {
    const found = this.#nextStatement()
    if (found === undefined) return
    this.#pending = this.#pending.subarray(found.length)
    const event = this.#apply(found.statement)
    if (event) yield event
  }

  /** The shortest text up to a semicolon and line end that is a statement: a name may have both in it. */
  #nextStatement(): { statement: DumpStatement; length: number } | undefined {
    if (!mayBegin(this.#pending.toString('latin1', 0, 64))) throw new PgDumpError('unknown statement')
    let from = 0
    for (let tries = 0; tries < maxTries; tries++) {
      const at = this.#pending.indexOf(';\n', from)
      if (at < 0) {
        if (this.#pending.length > maxStatementBytes) break
        return undefined
      }
      if (at > maxStatementBytes) break
      const statement = readStatement(this.#pending.toString('utf8', 0, at + 1))
      if (statement) {
        this.#isOver = this.#pending.toString('latin1', 0, at) === 'COMMIT'
        return { statement, length: at + 2 }
      }
      from = at + 2
    }
    throw new PgDumpError('unknown statement')
  }

  #apply(statement: DumpStatement): DumpEvent | undefined {
    if (statement.kind === 'nothing') return undefined
    if (statement.kind === 'create') {
      this.#create(statement.layer, statement.fid)
      return undefined
    }
    const layer = this.#layers.get(statement.layer)
    if (!layer) throw new PgDumpError('a statement names a layer that was not declared')
    if (statement.kind === 'geometry') {
      const { column, srid } = statement
      if (layer.geometry) layer.columns.push({ name: column, type: 'geometry' })
      else layer.geometry = { column, srid }
    } else if (statement.kind === 'column') {
      if (layer.columns.length >= maxColumns) throw new PgDumpError('too many columns')
      layer.columns.push({ name: statement.column, type: statement.type })
    } else {
      return this.#startRows(layer, statement.columns)
    }
    return undefined
  }

  #create(layer: string, fid: string): void {
    if (this.#layers.has(layer)) throw new PgDumpError('two layers have one name')
    if (this.#layers.size >= maxLayers) throw new PgDumpError('too many layers')
    this.#layers.set(layer, { name: layer, fid, columns: [], geometry: undefined, hasRows: false })
  }

  #startRows(layer: OpenLayer, columns: readonly string[]): DumpEvent {
    const known = new Set([layer.fid, layer.geometry?.column, ...layer.columns.map((column) => column.name)])
    if (columns.some((column) => !known.has(column)) || new Set(columns).size !== columns.length)
      throw new PgDumpError('the rows have columns that were not declared')
    layer.hasRows = true
    this.#isInRows = true
    this.#lineBytes = 0
    this.#isNextEscaped = false
    return { kind: 'copy', layer, columns }
  }

  /** Rows end with a line of `\.`, which no row can have: a backslash in a value is doubled. */
  *#takeRows(): Generator<DumpEvent> {
    const bytes = this.#pending
    if (this.#lineBytes === 0 && bytes.subarray(0, 3).equals(endMark.subarray(1))) {
      yield* this.#endRows(bytes, 0, 3)
      return
    }
    const end = bytes.indexOf(endMark)
    if (end >= 0) {
      yield* this.#endRows(bytes, end + 1, end + endMark.length)
      return
    }
    // The end mark may be cut: keep as much as may belong to it, and wait for more.
    const kept = Math.min(bytes.length, endMark.length - 1)
    const rows = bytes.subarray(0, bytes.length - kept)
    this.#pending = bytes.subarray(bytes.length - kept)
    if (rows.length > 0) yield this.#rows(rows)
  }

  *#endRows(bytes: Buffer, rowsEnd: number, end: number): Generator<DumpEvent> {
    if (rowsEnd > 0) yield this.#rows(bytes.subarray(0, rowsEnd))
    this.#pending = bytes.subarray(end)
    this.#isInRows = false
    yield { kind: 'copied' }
  }

  #rows(bytes: Buffer): DumpEvent {
    const lastEnd = bytes.lastIndexOf(LF)
    this.#lineBytes = lastEnd < 0 ? this.#lineBytes + bytes.length : bytes.length - lastEnd - 1
    if (this.#lineBytes > maxLineBytes) throw new PgDumpError('a row is too long')
    return { kind: 'rows', bytes, rows: this.#countRows(bytes) }
  }

  /** Line ends that are not part of a value: those have a backslash before them. */
  #countRows(bytes: Buffer): number {
    let rows = 0
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1))
      if (!this.#isEscaped(bytes, at)) rows++
    this.#isNextEscaped = this.#isEscaped(bytes, bytes.length)
    return rows
  }

  #isEscaped(bytes: Buffer, at: number): boolean {
    let slashes = 0
    while (slashes < at && bytes[at - 1 - slashes] === BACKSLASH) slashes++
    return (slashes + (slashes === at && this.#isNextEscaped ? 1 : 0)) % 2 === 1
  }
}

const endMark = Buffer.from('\n\\.\n')
const LF = 10
const BACKSLASH = 92
const maxStatementBytes = 1024 * 1024
/** How many semicolons with line ends the names of one statement may have. */
const maxTries = 100
const maxLineBytes = 256 * 1024 * 1024
/** Far more than a table or an import may have; refused later with a better text. */
const maxColumns = 20_000
const maxLayers = 10_000
