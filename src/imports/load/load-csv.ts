import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { CsvError } from '../../file-import/csv-records.ts'
import { encodings } from '../../file-import/encodings.ts'
import { headerOf, type ImportFile, ImportFileError, openImport } from '../../file-import/import-file.ts'
import {
  findPoints,
  type ImportPlan,
  importStatements,
  isNumber,
  type Points,
} from '../../file-import/import-plan.ts'
import { type PlannedColumn, planImport } from '../../file-import/plan-import.ts'
import { type FileReading, readTypes } from '../../file-import/read-types.ts'
import { rejectsFile } from '../../file-import/rejects-file.ts'
import { isRewritten, rewriteRows } from '../../file-import/rewrite-rows.ts'
import type { CopyDialect } from '../../sql/copy-load.ts'
import { columnNamesOf, stemOf, tableNameOf } from '../files/names.ts'
import type { InputFile } from '../files/upload-files.ts'
import { ImportFailure } from '../import-failure.ts'
import { canBecomeText } from './load-converted.ts'
import { checkLimits, type Loading, placeOf, type Stage, type StageColumn, storedRows } from './loading.ts'
import { readLines } from './read-lines.ts'
import { copyWithoutBad, type Rejects } from './rejects.ts'
import { copyInto, inSavepoint } from './run-statement.ts'
import {
  checkColumnCount,
  coordinateOf,
  createStage,
  type KnownColumns,
  stageName,
  targetColumns,
  withLine,
} from './stage-table.ts'

/** A CSV file that was read once: its columns, and what is in them. */
export type ReadCsv = Readonly<{ file: ImportFile; reading: FileReading }>

/** Reads a whole CSV file for its types. No transaction is open meanwhile. */
export async function readCsv(
  input: InputFile,
  { quotedFieldsGuessing }: Readonly<{ quotedFieldsGuessing: boolean }>,
  signal: AbortSignal,
): Promise<ReadCsv> {
  const read = (isGzip: boolean) => {
    const bytes = createReadStream(join(input.folder, input.file), { signal, highWaterMark: 256 * 1024 })
    return isGzip ? bytes.pipe(createGunzip()) : bytes
  }
  try {
    const file = await openImport({ name: `${stemOf(input.name)}.csv`, read })
    checkWidth(file, input)
    const asWritten = { ...file, dialect: { ...file.dialect, areQuotedText: !quotedFieldsGuessing } }
    const reading = await readTypes(asWritten, () => signal.throwIfAborted())
    if (reading.isEncodingRight) return { file, reading }
    return await readInOtherEncoding(asWritten, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw csvFailure(error, input)
  }
}

/** Before the whole file is read: each column costs time and memory. */
function checkWidth({ rows }: ImportFile, input: InputFile): void {
  const columns = rows[0]?.length
  if (columns === undefined) throw badLine(input, { line: 1, message: 'This line is too long.' })
  checkColumnCount(columns)
}

/** For a file that begins as UTF-8 and has other bytes further down. */
async function readInOtherEncoding(file: ImportFile, signal: AbortSignal): Promise<ReadCsv> {
  const other = { ...file, dialect: { ...file.dialect, encoding: 'WIN1252' as const } }
  return { file: other, reading: await readTypes(other, () => signal.throwIfAborted()) }
}

function csvFailure(error: unknown, input: InputFile): unknown {
  if (error instanceof ImportFileError) {
    if (error.kind === 'empty') return new ImportFailure(1005, `${placeOf(input)}The file is empty`)
    const code = error.kind === 'utf-16' ? 2006 : 1002
    return new ImportFailure(code, `${placeOf(input)}${error.message}`)
  }
  if (error instanceof CsvError) return badLine(input, error)
  return error
}

const badLine = (input: InputFile, { line, message }: Readonly<{ line: number; message: string }>) =>
  new ImportFailure(2003, `${placeOf(input)}Line ${line}: ${message}`)

/** Loads it into a new table. A column whose values PostgreSQL refuses is loaded again as text. */
export async function loadCsv(loading: Loading, input: InputFile, csv: ReadCsv): Promise<void> {
  const { stages, warnings } = loading
  const { inference } = csv.reading
  if (inference.badLine && (inference.isCutShort || !loading.rejects)) throw badLine(input, inference.badLine)
  if (csv.file.dialect.encoding !== 'UTF8')
    warnings.encoding = encodings[csv.file.dialect.encoding].toUpperCase()
  const asText = new Set<string>()
  const before = stages.length
  for (;;) {
    try {
      await inSavepoint(loading.session, () => storeCsv(loading, input, csv, asText))
      break
    } catch (error) {
      stages.length = before
      if (!canBecomeText(error, asText)) throw csvFailure(error, input)
    }
  }
  if (asText.size > 0) warnings.add('columns_as_text', ...asText)
  for (const stage of stages.slice(before)) {
    const { geometry } = stage
    const srid = geometry?.isRaw ? undefined : geometry && 4326
    stage.origin = { encoding: encodings[csv.file.dialect.encoding].toUpperCase(), srid }
  }
}

async function storeCsv(
  loading: Loading,
  input: InputFile,
  { file, reading }: ReadCsv,
  asText: ReadonlySet<string>,
): Promise<void> {
  const { session, options, warnings } = loading
  const wanted = tableNameOf(options.tableName ?? stemOf(input.name))
  const names = columnNamesOf(headerOf(file), ['the_geom_webmercator'])
  const planned = planImport(file, reading, {
    table: wanted,
    isAppended: false,
    names: { ...names },
    types: {},
    points: undefined,
    isPrepared: true,
    sendsBad: loading.rejects !== undefined,
  })
  const columns = planned.columns.map((column) => tableColumn(column, options.typeGuessing, asText))
  const geometryAt = geometryColumn(planned.columns, options.typeGuessing && asText.size === 0)
  const known = await targetColumns(loading, wanted)
  const points = geometryAt < 0 ? findPoints(columns.map((column) => asInTable(column, known))) : undefined
  const stage = await createStage(
    loading,
    wanted,
    columns.map((column, at) =>
      at === geometryAt ? { name: 'the_geom', type: 'postgis.geometry' } : column,
    ),
    geometryAt >= 0 ? { isRaw: true, srid: 0 } : points ? { isRaw: false, points } : undefined,
    { point: points && pointOf(points) },
  )
  const stored = stage.columns.slice(0, columns.length)
  const plan: ImportPlan = {
    ...planned.plan,
    // The table computes them.
    points: undefined,
    columns: planned.columns.map((column, at) => ({
      ...column,
      ...stored[at]!,
      form: formOf(column, stored[at]!),
    })),
  }
  const { inference } = reading
  const rows = rowsOf(loading, input, file, plan, inference.rows + inference.badRows)
  const statement = copyText(loading, stage, plan)
  stage.rows = loading.rejects
    ? await storeGood(loading, loading.rejects, input, { statement, rows, plan, reading, file, stage })
    : await copyInto(session, statement, rows)
  if (stage.rows === 0) warnings.add('empty', wanted)
}

/** A file may have nothing but NULL in a column that the table has numbers in. */
function asInTable(column: StageColumn, known: KnownColumns | undefined): StageColumn {
  const type = known?.get(column.name)
  return type !== undefined && isNumber(type) ? { ...column, type } : column
}

type GoodRows = Readonly<{
  statement: string
  rows: AsyncIterable<Uint8Array>
  plan: ImportPlan
  reading: FileReading
  file: ImportFile
  stage: Stage
}>

/** Leaves out what PostgreSQL refuses. */
async function storeGood(
  { session, signal }: Loading,
  rejects: Rejects,
  input: InputFile,
  { statement, rows, plan, reading, file, stage }: GoodRows,
): Promise<number> {
  const { isCopyText, quote, hasHeader, encoding, delimiter } = plan.dialect
  const dialect: CopyDialect = {
    format: isCopyText ? 'text' : 'csv',
    // A character that no text has, as in the statement.
    quote: quote === '' ? '\u0001' : quote,
    escape: quote === '' ? '\u0001' : quote,
    header: hasHeader ? 'ignored' : 'none',
    encoding: encoding === 'UTF8' ? undefined : encoding,
  }
  const rejected = rejects.begin(dialect.encoding)
  const header = hasHeader ? rejectsFile(file, []).trimEnd() : ''
  rejected.beginSection(stage.wanted, { header })
  stage.section = { place: placeOf(input), encoding: dialect.encoding, header }
  stage.readText = (lines) => readLines(sentRows(file.text(), plan), dialect, lines, rejects.keepsAll, signal)
  const numbering = stage.line === undefined ? undefined : { delimiter, linesBefore: 0 }
  try {
    const stored = await copyWithoutBad(session, statement, dialect, rows, rejected, numbering)
    if (stored + rejected.count < reading.inference.rows)
      throw new ImportFailure(
        2003,
        `${placeOf(input)}A line of \\. ends the data for PostgreSQL: take it out`,
      )
    return stored
  } finally {
    rejects.add(rejected, placeOf(input))
  }
}

/** A point of each row, computed while the rows are stored. */
const pointOf = ({ lon, lat }: Points) =>
  `postgis.ST_SetSRID(postgis.ST_MakePoint(${coordinateOf(lon)}, ${coordinateOf(lat)}), 4326)`

/** The statement of the importer that all front ends share, for our table. */
function copyText(loading: Loading, stage: Stage, plan: ImportPlan): string {
  const { copy } = importStatements({
    ...plan,
    schema: loading.account.schema,
    table: stage.name,
    isNew: false,
  })
  return withLine(stage, copy.replace(/^COPY \S+/, `COPY ${stageName(loading, stage)}`))
}

function tableColumn(
  { name, type }: PlannedColumn,
  isGuessed: boolean,
  asText: ReadonlySet<string>,
): StageColumn {
  if (!isGuessed || asText.has(name)) return { name, type: 'text' }
  return { name, type: tableTypes[type] ?? 'text' }
}

const tableTypes: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bigint: 'bigint',
  'double precision': 'double precision',
  date: 'date',
  timestamp: 'timestamptz',
  timestamptz: 'timestamptz',
  json: 'json',
}

/** Values in a local form are rewritten only for a column of that type. */
const formOf = ({ form }: PlannedColumn, { type }: StageColumn) => (type === 'text' ? undefined : form)

const geometryNames = ['the_geom', 'geom', 'geometry', 'wkt', 'geojson', 'wkb_geometry']

function geometryColumn(columns: readonly PlannedColumn[], isGuessed: boolean): number {
  if (!isGuessed) return -1
  const known = geometryNames.map((name) =>
    columns.findIndex(
      (column) => column.name === name && (column.type === 'geometry' || column.type === 'json'),
    ),
  )
  return known.find((at) => at >= 0) ?? -1
}

async function* rowsOf(
  loading: Loading,
  { bytes }: InputFile,
  file: ImportFile,
  plan: ImportPlan,
  mostRows: number,
): AsyncGenerator<Uint8Array> {
  const { meter, spend, signal } = loading
  const before = meter.bytesRead
  const rowsBefore = storedRows(loading)
  let read = 0
  let rows = 0
  async function* counted() {
    for await (const chunk of file.text()) {
      signal.throwIfAborted()
      read += chunk.length
      for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) rows++
      yield chunk
    }
  }
  for await (const chunk of sentRows(counted(), plan)) {
    spend(chunk.length)
    meter.readTo(before + Math.min(read, bytes))
    // Lines, some of them inside values.
    meter.rowsTo(rowsBefore + Math.min(mostRows, Math.max(0, rows - (plan.dialect.hasHeader ? 1 : 0))))
    checkLimits(loading)
    yield chunk
  }
  meter.readTo(before + bytes)
}

/** The rows as they are sent to PostgreSQL. */
const sentRows = (text: AsyncIterable<Uint8Array>, plan: ImportPlan) =>
  isRewritten(plan) ? rewriteRows(text, plan) : text

const LF = 10
