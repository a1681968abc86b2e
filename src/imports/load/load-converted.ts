import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DumpEvent, type DumpLayer, PgDumpError, readPgDump } from '../../convert/pgdump/read-pgdump.ts'
import { type ConverterEnd, type RunningConverter, requireSandbox } from '../../convert/run-converter.ts'
import type { RejectedRows } from '../../copy/load/rejected-rows.ts'
import type { CopyDialect } from '../../sql/copy-load.ts'
import { judgeColumns, NotFlat, readColumns, roundedColumns } from '../files/column-reader.ts'
import { type ConversionWishes, convertFile, dumpGeometry } from '../files/converter.ts'
import { fileKinds, isColumnKind } from '../files/file-kinds.ts'
import { columnNamesOf, stemOf, tableNameOf } from '../files/names.ts'
import { type InputFile, readHead } from '../files/upload-files.ts'
import type { CheckedGeojson } from '../geojson/check-geojson.ts'
import { ImportFailure } from '../import-failure.ts'
import type { ImportSettings } from '../import-record.ts'
import { DatabaseFault } from './database-fault.ts'
import { DigitWatch } from './digit-watch.ts'
import { checkLimits, type Loading, placeOf, placeOfLayer, type Stage, storedRows } from './loading.ts'
import { numberRows } from './read-lines.ts'
import { copyWithoutBad } from './rejects.ts'
import { copyInto, inSavepoint } from './run-statement.ts'
import { copyStatement, createStage, straighten } from './stage-table.ts'

/**
 * Loads a file that GDAL reads, or a program of ours. It is read again where its first reading cannot be stored: without a reference system, in
 * another encoding, with geometry of any kind, or with a column as text.
 */
export async function loadConverted(
  loading: Loading,
  input: InputFile,
  checked: CheckedGeojson | undefined,
): Promise<void> {
  const { converter, stages, warnings } = loading
  if ('missing' in converter && !(isColumnKind(input.kind) && converter.sandbox))
    throw new ImportFailure(
      1002,
      `${placeOf(input)}This kind of file cannot be read on this server: ${converter.missing}`,
    )
  const isGuessed = input.kind === 'shp' && !input.tellsEncoding
  // A shapefile says polygon and means polygons of one or several parts.
  const isMixed = input.kind === 'shp'
  let wishes: ConversionWishes = { isTransformed: true, encoding: isGuessed ? 'RAW' : undefined, isMixed }
  const asText = new Set<string>()
  const before = stages.length
  let words: string
  // In the wrong encoding every row could be bad.
  let skipsBad = loading.rejects !== undefined && !isGuessed
  let rejected: RejectedRows | undefined
  for (;;) {
    rejected = skipsBad ? loading.rejects?.begin() : undefined
    try {
      const reading = { wishes, asText, rejected }
      words = await inSavepoint(loading.session, () => readLayers(loading, input, reading))
      break
    } catch (error) {
      stages.length = before
      if ((error instanceof NoReferenceSystem || error instanceof NotFlat) && wishes.isTransformed)
        wishes = { ...wishes, isTransformed: false }
      else if (error instanceof MixedGeometry && !wishes.isMixed) wishes = { ...wishes, isMixed: true }
      else if (isBadText(error) && wishes.encoding === 'RAW') wishes = { ...wishes, encoding: 'CP1252' }
      else if (loading.rejects && !skipsBad && error instanceof DatabaseFault) skipsBad = true
      else if (!canBecomeText(error, asText)) {
        if (rejected) loading.rejects?.add(rejected, placeOf(input))
        throw error
      }
    }
  }
  if (rejected) loading.rejects?.add(rejected, placeOf(input))
  const loaded = stages.slice(before)
  checkCount(input, loaded, rejected?.count ?? 0, checked)
  // A shapefile has no curves.
  const curved = wishes.isMixed && input.kind !== 'shp' ? loaded.filter(({ geometry }) => geometry) : []
  for (const stage of curved) await straighten(loading, stage)
  for (const { rows, wanted } of loaded) if (rows === 0) warnings.add('empty', wanted)
  if (/Non closed ring/.test(words)) warnings.add('closed_rings', ...loaded.map(({ wanted }) => wanted))
  if (checked?.hasLostIds) warnings.add('feature_ids', ...loaded.map(({ wanted }) => wanted))
  if (isColumnKind(input.kind)) warnings.add('rounded_times', ...roundedColumns(words, loaded))
  if (wishes.encoding === 'CP1252') warnings.encoding = 'WINDOWS-1252'
  if (loading.options.isPreview) await noteOrigins(loading, input, loaded, wishes)
  if (asText.size > 0) warnings.add('columns_as_text', ...asText)
}

/** For a preview: GDAL has transformed the coordinates, so the reference systems of the layers are read from their first features. */
async function noteOrigins(
  loading: Loading,
  input: InputFile,
  loaded: readonly Stage[],
  wishes: ConversionWishes,
): Promise<void> {
  const encoding = await encodingOf(input, wishes)
  const isAsked = wishes.isTransformed && !isColumnKind(input.kind) && loaded.some(({ geometry }) => geometry)
  const told = isAsked ? await layerSrids(loading, input, wishes) : undefined
  for (const stage of loaded) {
    const { geometry, layer } = stage
    const own = geometry?.isRaw ? geometry.srid : geometry && 4326
    // A file whose table has its name may have one layer only.
    const srid = told ? (told.get(layer ?? '') ?? [...told.values()][0]) : own
    // Without transforming, 0 means that the file does not tell.
    stage.origin = { encoding, srid: geometry && (told || srid! > 0) ? srid : undefined }
  }
}

async function layerSrids(
  { converter, signal }: Loading,
  input: InputFile,
  wishes: ConversionWishes,
): Promise<ReadonlyMap<string, number>> {
  const srids = new Map<string, number>()
  if ('missing' in converter) return srids
  const run = convertFile(converter, input, { ...wishes, isTransformed: false, mostFeatures: 1 }, signal)
  try {
    for await (const event of readPgDump(run.stdout as AsyncIterable<Buffer>)) {
      if (!('layer' in event) || !event.layer.geometry) continue
      srids.set(event.layer.name, Math.max(0, event.layer.geometry.srid))
    }
  } catch (error) {
    // Its limits may end it: the file itself was read before.
    signal.throwIfAborted()
    if (!(error instanceof PgDumpError)) throw error
  } finally {
    run.kill()
    await run.ended
  }
  return srids
}

/** The encoding of the text in the file. MapInfo files name one that only GDAL reads. */
async function encodingOf(
  { kind, folder, tellsEncoding }: InputFile,
  { encoding }: ConversionWishes,
): Promise<string | null> {
  if (kind === 'tab' || kind === 'mif') return null
  if (encoding === 'CP1252') return 'WINDOWS-1252'
  if (!tellsEncoding) return 'UTF-8'
  const head = await readHead(join(folder, 'input.cpg'))
  return head.toString('latin1').trim().slice(0, 50) || null
}

/** GDAL may stop at a feature that it does not understand, without a word. */
function checkCount(
  input: InputFile,
  loaded: readonly Stage[],
  leftOut: number,
  checked: CheckedGeojson | undefined,
): void {
  const rows = loaded.reduce((sum, stage) => sum + stage.rows, leftOut)
  if (checked && rows !== checked.features)
    throw new ImportFailure(2001, `${placeOf(input)}GDAL read ${rows} of the ${checked.features} features`)
}

class NoReferenceSystem extends ImportFailure {}
class MixedGeometry extends ImportFailure {}

const isBadText = (error: unknown) => error instanceof DatabaseFault && error.sqlstate === '22021'

/** Notes the column whose value was refused. */
export function canBecomeText(error: unknown, asText: Set<string>): boolean {
  if (!(error instanceof DatabaseFault) || !/^22/.test(error.sqlstate)) return false
  const { column } = error
  if (column === undefined || column === 'the_geom' || asText.has(column) || asText.size >= mostAsText)
    return false
  asText.add(column)
  return true
}

const mostAsText = 20

/** Returns what GDAL has said meanwhile. */
async function readLayers(
  loading: Loading,
  input: InputFile,
  reading: Omit<Reading, 'events'>,
): Promise<string> {
  const { signal } = loading
  const run = startReading(loading, input, reading.wishes)
  try {
    const events = readPgDump(run.stdout as AsyncIterable<Buffer>)
    await takeLayers(loading, input, { ...reading, events })
    const ended = await run.ended
    judge(ended, input, signal)
    return ended.stderr
  } catch (error) {
    // A dump that breaks off is mostly the consequence of what GDAL says at its end.
    if (error instanceof PgDumpError)
      await Promise.race([drained(run), sleep(lastWordsMs, undefined, { ref: false })])
    run.kill()
    const ended = await run.ended
    if (ended.stopped === 'time') throw tooSlow(input)
    if (error instanceof PgDumpError && ended.stopped === undefined) judge(ended, input, signal)
    throw error
  }
}

function startReading({ converter, signal }: Loading, input: InputFile, wishes: ConversionWishes) {
  if (isColumnKind(input.kind)) return readColumns(converter, input, wishes, signal)
  if ('missing' in converter) throw new Error('no converter')
  return convertFile(converter, input, wishes, signal)
}

const lastWordsMs = 1_000

function drained({ stdout, ended }: RunningConverter): Promise<ConverterEnd> {
  stdout.resume()
  return ended
}

type Reading = Readonly<{
  wishes: ConversionWishes
  asText: ReadonlySet<string>
  /** Gets the rows that PostgreSQL refuses; undefined: the first one ends the reading. */
  rejected: RejectedRows | undefined
  events: AsyncGenerator<DumpEvent>
}>

async function takeLayers(loading: Loading, input: InputFile, reading: Reading): Promise<void> {
  const { options, meter } = loading
  const { named } = fileKinds[input.kind]
  const isWorkbook = isWorkbookKind(input)
  const layers = new Map<string, LoadedLayer>()
  const empties: DumpLayer[] = []
  const seen: string[] = []
  const doneBefore = meter.bytesRead
  for await (const event of reading.events) {
    if (event.kind === 'empty' && isWanted(input, options, event.layer.name)) empties.push(event.layer)
    if (event.kind !== 'copy') continue
    const { layer } = event
    if (!seen.includes(layer.name)) seen.push(layer.name)
    if (!isWanted(input, options, layer.name, seen[0]!)) {
      await skipRows(reading.events)
      continue
    }
    const loaded = layers.get(layer.name) ?? (await openLayer(loading, input, layer, event.columns, reading))
    layers.set(layer.name, loaded)
    await storeRows(loading, input, loaded, event.columns, reading, doneBefore)
  }
  const wantsEmpty = named !== 'always-layer' && !isWorkbook
  for (const layer of wantsEmpty ? empties : layers.size === 0 ? empties.slice(0, 1) : []) {
    const columns = layer.columns.map(({ name }) => name)
    const withGeometry = layer.geometry ? [layer.geometry.column, ...columns] : columns
    layers.set(layer.name, await openLayer(loading, input, layer, withGeometry, reading))
  }
  checkLayers(input, options, [...layers.keys(), ...empties.map(({ name }) => name)])
  meter.readTo(doneBefore + input.bytes)
  nameLayers(loading, input, layers)
}

const isWorkbookKind = ({ kind }: Pick<InputFile, 'kind'>) => kind === 'xlsx' || kind === 'ods'
const hasLayers = (kind: InputFile['kind']) => isWorkbookKind({ kind }) || fileKinds[kind].named !== 'file'

/** One sheet of a workbook; of other files the layers that the caller asked for. */
function isWanted(
  input: InputFile,
  { sheet, layers, isPreview = false }: ImportSettings,
  layer: string,
  first = layer,
): boolean {
  const chosen = sheet ?? layers?.[0]
  if (isWorkbookKind(input)) return chosen === undefined && isPreview ? true : layer === (chosen ?? first)
  return fileKinds[input.kind].named === 'file' || !layers || layers.includes(layer)
}

function checkLayers(input: InputFile, { sheet, layers }: ImportSettings, found: readonly string[]): void {
  const wanted = sheet === undefined ? (hasLayers(input.kind) ? (layers ?? []) : []) : [sheet]
  const missing = wanted.find((name) => !found.includes(name))
  if (found.length > 0 && missing === undefined) return
  const named = missing === undefined ? '' : ` '${missing}'`
  throw new ImportFailure(2001, `${placeOf(input)}There is no layer${named} in the file`)
}

/** `names`: of the columns of the dump, in the table. `floats`: columns of the dump that GDAL may cut. */
type LoadedLayer = {
  stage: Stage
  names: ReadonlyMap<string, string>
  floats: ReadonlySet<string>
  /** Rows of the dump so far. */
  lines: number
}

async function openLayer(
  loading: Loading,
  { kind, name }: InputFile,
  layer: DumpLayer,
  copied: readonly string[],
  { wishes, asText }: Reading,
): Promise<LoadedLayer> {
  const attributes = layer.columns.filter((column) => column.name !== layer.fid)
  const taken = layer.geometry ? ['the_geom', 'the_geom_webmercator'] : ['the_geom_webmercator']
  const named = columnNamesOf(
    attributes.map((column) => column.name),
    taken,
  )
  const names = new Map(attributes.map((column, at) => [column.name, named[at]!]))
  const isExact = isColumnKind(kind)
  const types = new Map(
    attributes.map((column) => [column.name, isExact ? exactTypeOf(column.type) : typeOf(column.type)]),
  )
  if (copied.includes(layer.fid) && !names.has(layer.fid)) {
    const isFree = !named.includes('cartodb_id')
    names.set(layer.fid, isFree ? 'cartodb_id' : columnNamesOf([layer.fid], [...named, ...taken])[0]!)
    types.set(layer.fid, 'bigint')
  }
  if (layer.geometry) names.set(dumpGeometry, 'the_geom')
  const isStored = wishes.isTransformed && !(isExact && layer.geometry?.srid !== 4326)
  const geometry =
    layer.geometry &&
    (isStored ? { isRaw: false as const } : { isRaw: true as const, srid: layer.geometry.srid })
  const columns = [...names].map(([source, column]) => {
    if (source === dumpGeometry)
      return { name: column, type: geometry?.isRaw ? 'postgis.geometry' : 'postgis.geometry(Geometry,4326)' }
    return { name: column, type: asText.has(column) ? 'text' : types.get(source)! }
  })
  const stem = tableNameOf(loading.options.tableName ?? stemOf(name))
  const wanted = fileKinds[kind].named === 'always-layer' ? tableNameOf(`${stem}_${layer.name}`) : stem
  // The numbers of a shapefile are text of a fixed width.
  const isCut = !isExact && kind !== 'shp'
  const floats = attributes.filter(({ name: source }) => isCut && types.get(source) === 'double precision')
  return {
    stage: await createStage(
      loading,
      wanted,
      columns,
      geometry,
      hasLayers(kind) ? { layer: layer.name } : {},
    ),
    names,
    floats: new Set(floats.map((column) => column.name)),
    lines: 0,
  }
}

/** Types of PGDUMP, in ours. */
function typeOf(type: string): string {
  if (/\[\]$/.test(type)) return 'text'
  if (/^(integer|smallint)$/.test(type)) return 'integer'
  if (type === 'int8') return 'bigint'
  if (/^(float8|real|numeric)/.test(type)) return 'double precision'
  if (type === 'boolean' || type === 'date') return type
  if (type.startsWith('timestamp')) return 'timestamptz'
  return /^jsonb?$/.test(type) ? 'json' : 'text'
}

/** Types of a program of ours are PostgreSQL's. */
const exactTypeOf = (type: string) => (type === 'geometry' ? 'postgis.geometry' : type)

async function storeRows(
  loading: Loading,
  input: InputFile,
  layer: LoadedLayer,
  columns: readonly string[],
  { events, rejected }: Reading,
  doneBefore: number,
): Promise<void> {
  const { session, meter, spend, warnings } = loading
  const { stage, names, floats } = layer
  const digits = new DigitWatch(columns.map((column) => floats.has(column)))
  let read = 0
  const before = storedRows(loading)
  let rows = 0
  async function* chunks() {
    for (;;) {
      const { value: event, done } = await events.next()
      if (done || event.kind === 'copied') return
      if (event.kind !== 'rows') throw new PgDumpError('unexpected statement between rows')
      spend(event.bytes.length)
      digits.push(event.bytes)
      read += event.bytes.length
      rows += event.rows
      // How much of the file GDAL has read is not known: never more than almost all.
      meter.readTo(doneBefore + Math.min(read, 0.99 * input.bytes))
      meter.rowsTo(before + rows)
      checkLimits(loading)
      yield event.bytes
    }
  }
  const statement = copyStatement(
    loading,
    stage,
    columns.map((column) => names.get(column)!),
    '',
  )
  const form = { columns: columns.map((column) => names.get(column)!) }
  rejected?.beginSection(stage.wanted, form)
  stage.section = { place: placeOf(input), encoding: undefined, ...form }
  const numbering = stage.line === undefined ? undefined : { delimiter: '\t', linesBefore: layer.lines }
  const all = () => (numbering ? numberRows(chunks(), dumpDialect, numbering) : chunks())
  try {
    stage.rows += rejected
      ? await copyWithoutBad(session, statement, dumpDialect, chunks(), rejected, numbering)
      : await copyInto(session, statement, all())
  } catch (error) {
    if (error instanceof DatabaseFault && fileKinds[input.kind].named !== 'file')
      error.place = `${placeOf(input)}${placeOfLayer(stage.layer)}`
    throw error
  }
  layer.lines += rows
  warnings.add('rounded_numbers', ...digits.cut.map((place) => names.get(columns[place]!)!))
}

/** The COPY format of the rows in a dump. */
const dumpDialect: CopyDialect = {
  format: 'text',
  quote: '',
  escape: '',
  header: 'none',
  encoding: undefined,
}

async function skipRows(events: AsyncGenerator<DumpEvent>): Promise<void> {
  for (;;) {
    const { value: event, done } = await events.next()
    if (done || event.kind === 'copied') return
  }
}

/** One layer has the name of the file; several have those of file and layer. */
function nameLayers(
  { stages }: Loading,
  { kind }: InputFile,
  layers: ReadonlyMap<string, LoadedLayer>,
): void {
  if (fileKinds[kind].named !== 'layer' || layers.size < 2) return
  for (const [layer, { stage }] of layers) {
    const at = stages.findIndex(({ name }) => name === stage.name)
    stages[at] = { ...stages[at]!, wanted: tableNameOf(`${stage.wanted}_${layer}`) }
  }
}

/** An error of GDAL is one even if the program ends well. */
function judge(
  { exitCode, signal, stderr, stopped }: ConverterEnd,
  input: InputFile,
  stop: AbortSignal,
): void {
  stop.throwIfAborted()
  if (stopped === 'time' || signal === 'SIGXCPU') throw tooSlow(input)
  requireSandbox({ exitCode, stderr })
  if (isColumnKind(input.kind)) {
    judgeColumns({ exitCode, signal, stderr }, input)
    return
  }
  const errors = [...stderr.matchAll(/^(?:ERROR \d+|FAILURE):\s*(.*)$/gm)].map(([, text]) => text!)
  if (/no\s+coordinate\s+system/.test(stderr))
    throw new NoReferenceSystem(3101, `${placeOf(input)}The file does not name its reference system`)
  // GDAL would go on with another value.
  const changed = /^Warning \d+: (.*clamped.*|Invalid content for record .*)$/m.exec(stderr)?.[1]
  if (changed !== undefined) throw new ImportFailure(2001, `${placeOf(input)}${changed}`)
  if (exitCode === 0 && errors.length === 0) return
  const text = readable(errors[0] ?? stderr.split('\n')[0] ?? '', input)
  if (
    /out of memory|cannot allocate|bad_alloc/i.test(stderr) ||
    (exitCode !== 0 && (signal !== null || exitCode === 134 || exitCode === 137))
  )
    throw new ImportFailure(6666, `${placeOf(input)}The file needs too much memory`)
  if (/PROJ: .*crs not found/.test(text)) throw new ImportFailure(3008, `${placeOf(input)}${text}`)
  if (/ whereas .* is expected/.test(text)) throw new MixedGeometry(2001, `${placeOf(input)}${text}`)
  if (input.kind === 'geojson' || input.kind === 'geojsonl')
    throw new ImportFailure(3007, `${placeOf(input)}${text}`)
  throw new ImportFailure(2001, `${placeOf(input)}${text || `GDAL ended with ${exitCode}`}`)
}

const tooSlow = (input: InputFile) =>
  new ImportFailure(6667, `${placeOf(input)}Reading the file took too long`)

/** GDAL's words, with the name that the client knows. */
function readable(text: string, { name, file }: InputFile): string {
  return text
    .replaceAll(`/work/${file}`, name)
    .replaceAll('/work/', '')
    .replaceAll('/vsistdout/', 'the output')
    .slice(0, 1_000)
}
