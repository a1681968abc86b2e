import { quoteLiteral, quoteName, quoteQualified } from '../../contract/text/quote.ts'
import {
  cutValue,
  mostTextBytes,
  placeOf,
  type RejectedPlace,
  type RejectedRows,
  shortTextBytes,
  tooMuchText,
} from '../../copy/load/rejected-rows.ts'
import { sqlstate } from '../../postgres/sqlstate.ts'
import { ImportFailure } from '../import-failure.ts'
import { DatabaseFault } from './database-fault.ts'
import type { Loading, Stage } from './loading.ts'
import { nothingLeft, type Rejects, refusal } from './rejects.ts'
import { inCallersPath, inSavepoint, queryInCatalog } from './run-statement.ts'
import { stageName } from './stage-table.ts'

/**
 * If rows of the file have the same key, the last one counts; the first, if rows of the table are kept. `isNew`: whether the row
 * `target` was inserted, as SQL.
 */
type Upsert = Readonly<{ key: readonly string[]; conflict: string; keeps: boolean; isNew: string }>

/** Brings the loaded rows into their table, without those that it refuses if bad rows are left out. */
export async function insertRows(loading: Loading, stage: Stage, upsert?: Upsert): Promise<void> {
  const { session, rejects } = loading
  const table = targetOf(loading, stage)
  if (rejects && stage.line !== undefined) await insertGood(loading, stage, rejects, upsert)
  else await insertAll(loading, stage, upsert)
  await queryInCatalog(session, `drop table ${stageName(loading, stage)}`)
  await queryInCatalog(
    session,
    `select cartodb.CDB_CartodbfyTable(${quoteLiteral(table)}::regclass)
     where exists (select from pg_catalog.pg_attribute where attrelid = ${quoteLiteral(table)}::regclass
       and attname = 'the_geom_webmercator' and not attisdropped)`,
  )
  await queryInCatalog(session, `analyze ${table}`)
}

const targetOf = ({ account }: Loading, { wanted }: Stage) => quoteQualified(account.schema, wanted)

/** Lines of the file. */
type Range = Readonly<{ from: number; to: number }>

async function insertRange(loading: Loading, stage: Stage, upsert?: Upsert, range?: Range): Promise<void> {
  const columns = [...stage.columns.map(({ name }) => name), ...(stage.computed ?? [])].map(quoteName)
  const nulls = (stage.nulls ?? []).map(quoteName)
  const inRange = (row: string) =>
    range ? [`${row}.${stage.line} between ${range.from} and ${range.to}`] : []
  // COPY has stored the rows in the order of the file.
  const place = stage.line ?? 'ctid'
  const isLater = upsert &&
    !upsert.keeps && [
      ...upsert.key.map((name) => `later.${quoteName(name)} = one.${quoteName(name)}`),
      `later.${place} > one.${place}`,
      ...inRange('later'),
    ]
  const stored = stageName(loading, stage)
  const conditions = [
    ...inRange('one'),
    ...(isLater ? [`not exists (select from ${stored} later where ${isLater.join(' and ')})`] : []),
  ]
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const { session } = loading
  const order = upsert?.keeps ? ` order by one.${place}` : ''
  const insert = `insert into ${targetOf(loading, stage)} as target (${[...columns, ...nulls].join(', ')})
    select ${[...columns, ...nulls.map(() => 'null')].join(', ')} from ${stored} one${where}${order}`
  if (!upsert) return void (await inCallersPath(session, () => queryInCatalog(session, insert)))
  const merge = `with cartage_done as (${insert} ${upsert.conflict} returning case when ${upsert.isNew} then 1 end as cartage_new)
    select pg_catalog.count(cartage_new) as inserted, pg_catalog.count(*) as stored from cartage_done`
  const [done] = await inCallersPath(session, () =>
    queryInCatalog<{ inserted: string; stored: string }>(session, merge),
  )
  const [inserted, all] = [Number(done!.inserted), Number(done!.stored)]
  const before = stage.merged ?? { inserted: 0, updated: 0 }
  stage.merged = { inserted: before.inserted + inserted, updated: before.updated + all - inserted }
}

async function insertAll(loading: Loading, stage: Stage, upsert: Upsert | undefined): Promise<void> {
  const fault = stage.nulls?.length
    ? await tryAll(loading, stage, upsert)
    : void (await insertRange(loading, stage, upsert))
  if (fault) throw fault
}

/** As tryRange. Columns get their default if the table refuses NULL in them. */
async function tryAll(
  loading: Loading,
  stage: Stage,
  upsert: Upsert | undefined,
): Promise<DatabaseFault | undefined> {
  for (;;) {
    const fault = await tryRange(loading, stage, upsert)
    if (!fault || !(await keepsDefaults(loading, stage, fault))) return fault
  }
}

/** Whether the fault may come from columns that were made NULL: these keep their default from now on. */
async function keepsDefaults(loading: Loading, stage: Stage, fault: DatabaseFault): Promise<boolean> {
  const { nulls = [] } = stage
  const { constraint } = fault.error
  if (fault.sqlstate !== sqlstate.checkViolation || constraint === undefined) return false
  const checked = await queryInCatalog<{ name: string }>(
    loading.session,
    `with target as (
       select ${quoteLiteral(targetOf(loading, stage))}::regclass as oid
     ), parts as (
       select oid from target union select relid from target, pg_partition_tree(target.oid)
     )
     select a.attname as name from parts join pg_attribute a on a.attrelid = parts.oid
     join pg_constraint c on c.conname = $1
       and (c.conrelid = parts.oid and a.attnum = any (c.conkey) or c.contypid = a.atttypid)`,
    [constraint],
  )
  stage.nulls = nulls.filter((column) => !checked.some(({ name }) => name === column))
  return stage.nulls.length < nulls.length
}

/** Undefined: the rows are stored. If one row has a fault, none of them is stored. */
async function tryRange(
  loading: Loading,
  stage: Stage,
  upsert: Upsert | undefined,
  range?: Range,
): Promise<DatabaseFault | undefined> {
  try {
    await inSavepoint(loading.session, () => insertRange(loading, stage, upsert, range))
    return undefined
  } catch (error) {
    if (error instanceof DatabaseFault && isAboutRow(error)) return error
    throw error
  }
}

/** Bad values, constraints, views with a check, and errors that triggers raise. */
const isAboutRow = ({ sqlstate: state }: DatabaseFault) =>
  ['22', '23', '44', 'P0'].includes(state.slice(0, 2)) && state !== sqlstate.quotaExceeded

type RefusedRow = Readonly<{ line: number; fault: DatabaseFault }>

async function insertGood(
  loading: Loading,
  stage: Stage,
  rejects: Rejects,
  upsert: Upsert | undefined,
): Promise<void> {
  if (!(await tryAll(loading, stage, upsert))) return
  const { place, encoding, ...form } = stage.section ?? { place: '', encoding: undefined }
  const rejected = rejects.begin(encoding)
  rejected.beginSection(stage.wanted, form)
  const mostKept = rejects.keepsAll ? Number.POSITIVE_INFINITY : mostListed
  const { bad, count, beyond } = await insertAroundBad(loading, stage, upsert, rejected.room, mostKept)
  await listBad(loading, stage, bad, rejected, rejects.keepsAll).catch((error: unknown) => {
    throw refusal(error, rejected)
  })
  rejected.count += count - bad.length
  rejects.add(rejected, place)
  if (beyond) throw tooManyBadRows(beyond)
  if (count === stage.rows) throw nothingLeft(rejected)
  stage.rows -= count
}

const tooManyBadRows = ({ line, fault }: RefusedRow) =>
  new ImportFailure(2012, `More rows are refused than max_bad_rows allows: ${fault.message} (line ${line})`, {
    cause: fault,
  })

/** The first `mostKept` bad rows, and the number of all. */
type AroundBad = Readonly<{ bad: readonly RefusedRow[]; count: number; beyond?: RefusedRow }>

/** In the order of the file, up to the first bad row beyond `mostBad`. Fewer rows at once after a fault, as bad rows often stand together, and then more again. */
async function insertAroundBad(
  loading: Loading,
  stage: Stage,
  upsert: Upsert | undefined,
  mostBad: number,
  mostKept: number,
): Promise<AroundBad> {
  const { session, signal } = loading
  const table = stageName(loading, stage)
  const [ends] = await queryInCatalog<{ first: string; last: string }>(
    session,
    `create index on ${table} (${stage.line}); analyze ${table};
     select min(${stage.line}) as first, max(${stage.line}) as last from ${table}`,
  )
  const last = Number(ends!.last)
  const bad: RefusedRow[] = []
  let count = 0
  let step = firstStep
  for (let from = Number(ends!.first); from <= last; ) {
    signal.throwIfAborted()
    const to = Math.min(last, from + step - 1)
    const fault = await tryRange(loading, stage, upsert, { from, to })
    if (fault && to > from) {
      step = Math.ceil((to - from + 1) / 2)
      continue
    }
    if (fault && count >= mostBad) return { bad, count, beyond: { line: from, fault } }
    if (fault && bad.length < mostKept) bad.push({ line: from, fault })
    if (fault) count += 1
    from = to + 1
    step = Math.min(mostStep, step * 2)
  }
  return { bad, count }
}

const firstStep = 1_024
const mostStep = 65_536

/** With their place and text, which is cut unless all rows are kept. */
async function listBad(
  loading: Loading,
  stage: Stage,
  bad: readonly RefusedRow[],
  rejected: RejectedRows,
  keepsAll: boolean,
): Promise<void> {
  const texts = await stage.readText?.(new Set(bad.map(({ line }) => line)))
  const areWhole = keepsAll && !texts
  for await (const batch of batchesOf(loading, stage, bad, areWhole)) {
    const rows = await storedValues(loading, stage, batch, areWhole)
    for (const { line, fault } of batch) {
      const values = rows.get(line) ?? []
      const text = texts?.get(line) ?? Buffer.from(copyText(stage, values))
      const place = await placeIn(loading, stage, fault, values)
      rejected.add(line, text, { severity: 'ERROR', ...fault.error }, place)
    }
  }
}

const mostListed = 100

/** So few rows that their values fit in memory. Throws if a row alone is more than may be listed. */
async function* batchesOf(
  loading: Loading,
  stage: Stage,
  bad: readonly RefusedRow[],
  areWhole: boolean,
): AsyncGenerator<readonly RefusedRow[]> {
  for (let at = 0; at < bad.length; at += batchRows) {
    const asked = bad.slice(at, at + batchRows)
    const sizes = await storedBytes(loading, stage, asked, areWhole)
    let batch: RefusedRow[] = []
    let bytes = 0
    for (const row of asked) {
      const size = sizes.get(row.line) ?? 0
      if (areWhole && size > mostTextBytes) throw new ImportFailure(2003, tooMuchText)
      if (batch.length > 0 && bytes + size > batchBytes) {
        yield batch
        batch = []
        bytes = 0
      }
      batch.push(row)
      bytes += size
    }
    yield batch
  }
}

const batchRows = 100
const batchBytes = 1024 * 1024

type RowValues = readonly (string | null)[]

const storedText = (name: string, isWhole: boolean) => {
  const value = `${quoteName(name)}::text`
  return isWhole ? value : `pg_catalog.left(${value}, ${shortTextBytes})`
}

/** The size of the values that `storedValues` would return, by line. */
async function storedBytes(
  loading: Loading,
  stage: Stage,
  bad: readonly RefusedRow[],
  areWhole: boolean,
): Promise<ReadonlyMap<number, number>> {
  const sizes = stage.columns.map(
    ({ name }) => `coalesce(pg_catalog.octet_length(${storedText(name, areWhole)}), 0)::bigint`,
  )
  const rows = await queryInCatalog<{ line: string; bytes: string }>(
    loading.session,
    `select ${stage.line} as line, ${['0', ...sizes].join(' + ')} as bytes from ${stageName(loading, stage)}
     where ${stage.line} = any ($1::bigint[])`,
    [bad.map(({ line }) => line)],
  )
  return new Map(rows.map(({ line, bytes }) => [Number(line), Number(bytes)]))
}

/** The values of the columns of the stage, by line. Each is cut to what is listed of a row, unless `areWhole`. */
async function storedValues(
  loading: Loading,
  stage: Stage,
  bad: readonly RefusedRow[],
  areWhole: boolean,
): Promise<ReadonlyMap<number, RowValues>> {
  const values = stage.columns.map(({ name }) => storedText(name, areWhole)).join(', ')
  const rows = await queryInCatalog<{ line: string; values: RowValues }>(
    loading.session,
    `select ${stage.line} as line, array[${values}]::text[] as values from ${stageName(loading, stage)}
     where ${stage.line} = any ($1::bigint[])`,
    [bad.map(({ line }) => line)],
  )
  return new Map(rows.map(({ line, values: found }) => [Number(line), found]))
}

/** In the text format of COPY, in the order of its section. */
function copyText({ columns, section }: Stage, values: RowValues): string {
  const names = section?.columns ?? columns.map(({ name }) => name)
  return names
    .map((wanted) => values[columns.findIndex(({ name }) => name === wanted)] ?? null)
    .map((value) => value?.replace(/[\b\f\n\r\t\v\\]/g, (letter) => escapes[letter]!) ?? '\\N')
    .join('\t')
}

const escapes: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
}

async function placeIn(
  loading: Loading,
  stage: Stage,
  { error }: DatabaseFault,
  values: RowValues,
): Promise<RejectedPlace> {
  const told = placeOf(error)
  const column = told.column ?? (await checkedColumn(loading, stage, error.constraint))
  const at = stage.columns.findIndex(({ name }) => name === column)
  return { column, value: at < 0 ? told.value : (cutValue(values[at]) ?? null) }
}

/** The column of a constraint on one column. */
async function checkedColumn(
  loading: Loading,
  stage: Stage,
  constraint: string | undefined,
): Promise<string | null> {
  if (constraint === undefined) return null
  const rows = await queryInCatalog<{ name: string }>(
    loading.session,
    `select a.attname as name from pg_catalog.pg_constraint c
     join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
     where c.conrelid = $1::regclass and c.conname = $2`,
    [targetOf(loading, stage), constraint],
  )
  return rows.length === 1 ? rows[0]!.name : null
}
