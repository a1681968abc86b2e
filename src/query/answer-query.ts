import type { Principal } from '../auth/account.ts'
import type { Config } from '../config/config.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log/log.ts'
import type { Databases } from '../postgres/databases.ts'
import type { AbortLike } from '../postgres/pools/interruption.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import type { ReplicaReader } from '../statements/replica-reader.ts'
import { runAs } from '../statements/run-as.ts'
import { type LimitsOf, queryLimits, type TimeLimits } from '../statements/time-limits.ts'
import { GeometryTypes } from './arrow/geometry-types.ts'
import { encodeText } from './encode-text.ts'
import { type DescribedResult, geometryMissing, geometryPlace, usualGeometry } from './geometry-column.ts'
import { binding } from './params/bind-values.ts'
import { ParameterTypes, UnknownTypes } from './params/parameter-types.ts'
import { PastTriggers } from './past-triggers.ts'
import { prepareStatement } from './prepare-statement.ts'
import type { Query } from './query.ts'
import { type AnswerTarget, QueryRun, type ShortAnswer } from './query-run.ts'
import { ColumnLists } from './rows/columns.ts'
import { CsvFormat } from './rows/csv-format.ts'
import { GeojsonFormat } from './rows/geojson-format.ts'
import { JsonFormat } from './rows/json-format.ts'
import { NdjsonFormat } from './rows/ndjson-format.ts'
import { ResultDescription } from './rows/result-description.ts'
import type { PageTotal, RowFormat } from './rows/row-format.ts'
import { SvgFormat } from './rows/svg-format.ts'
import { TypeNames } from './type-names.ts'

/** What all queries of a process share. */
export type Queries = Readonly<{
  databases: Databases
  columnLists: ColumnLists
  typeNames: TypeNames
  geometryTypes: GeometryTypes
  parameterTypes: ParameterTypes
  pastTriggers: PastTriggers
  limitsOf: LimitsOf<Required<TimeLimits>>
  maxRowBytes: number
}>

export function openQueries(config: Config, databases: Databases, log: Log): Queries {
  const shared = {
    columnLists: new ColumnLists(),
    typeNames: new TypeNames(),
    geometryTypes: new GeometryTypes(),
    parameterTypes: new ParameterTypes(),
    pastTriggers: new PastTriggers(databases, log),
  }
  return { databases, ...shared, limitsOf: queryLimits(config), maxRowBytes: config.queryMaxRowBytes }
}

/** The receiver of the rows. */
export type RowReceiver = Readonly<{
  /** Fires when it leaves: the statement is cancelled at once. */
  gone: AbortLike
  /** Where a long answer is written. */
  open: () => AnswerTarget
  /** Told before `open` what the answer leaves out, if it has no place to say so itself. */
  warn?: ((sentence: string) => void) | undefined
  /** If it wants to read from a replica. */
  reader?: ReplicaReader | undefined
  /** How rows are written, if not by the format of the query. */
  format?: (() => RowFormat) | undefined
  /** As in StatementOptions. */
  isAside?: boolean
}>

/** Runs the query as the key's own role and answers with its rows. */
export function answerQuery(
  queries: Queries,
  principal: Principal,
  query: Query,
  client: RowReceiver,
  total?: PageTotal,
): Promise<ShortAnswer> {
  const answered = answerTyped(queries, principal, query, client, total)
  if (!drawsGeometry(query)) return answered
  return answered.catch(async (error: unknown) => {
    if (!isUnknownColumn(error)) throw error
    const geometryColumn = await otherGeometry(queries, principal, query, client)
    if (geometryColumn === undefined) throw error
    return answerTyped(queries, principal, { ...query, geometryColumn }, client, total)
  })
}

const drawsGeometry = ({ format, around, counting }: Query) =>
  (format === 'geojson' || format === 'topojson' || format === 'svg') && !around && !counting

const isUnknownColumn = (error: unknown) =>
  error instanceof AppError && error.extras.sqlstate === sqlstate.undefinedColumn

/** The geometry of a result without `the_geom`. Undefined: another column is unknown. */
async function otherGeometry(
  queries: Queries,
  principal: Principal,
  query: Query,
  client: RowReceiver,
): Promise<string | undefined> {
  const described = await describeResult(queries, principal, query, client).catch(() => undefined)
  // With the usual column, it is one that a function does not find.
  if (!described || described.columns.some(({ name }) => name === usualGeometry)) return undefined
  const place = geometryPlace(described, query.skippedFields)
  if (place === undefined) throw geometryMissing(query.format, described, query.skippedFields)
  return described.columns[place]!.name
}

/** The columns that a SELECT answers with. It is planned and asked for no row. */
export async function describeResult(
  queries: Queries,
  principal: Principal,
  query: Query,
  { gone, reader }: Pick<RowReceiver, 'gone' | 'reader'>,
): Promise<DescribedResult> {
  const { databases, geometryTypes } = queries
  const description = new ResultDescription()
  const open = () => {
    throw new TypeError('a description has no rows')
  }
  await answerTyped(
    queries,
    principal,
    { ...query, around: { list: '*', after: 'LIMIT 0' } },
    { gone, reader: reader && untold, open, format: () => description, isAside: true },
  )
  const oids = await geometryTypes.find(databases, principal, { limits: queries.limitsOf(principal), gone })
  return { columns: description.described, oids }
}

/** The age of the data is that of the rows. */
const untold: ReplicaReader = { begins: () => undefined, returns: () => undefined }

function answerTyped(
  queries: Queries,
  principal: Principal,
  query: Query,
  client: RowReceiver,
  total?: PageTotal,
): Promise<ShortAnswer> {
  const answer = () => answerOnce(queries, principal, query, client, total)
  if (query.params === undefined) return answer()
  return answer().catch(async (error: unknown) => {
    if (!(error instanceof UnknownTypes)) throw error
    await learnTypes(queries, principal, error.oids, client.gone)
    return await answer()
  })
}

async function answerOnce(
  queries: Queries,
  principal: Principal,
  query: Query,
  { gone, open, warn, reader, format: ownFormat, isAside }: RowReceiver,
  total: PageTotal | undefined,
): Promise<ShortAnswer> {
  const { databases, columnLists, typeNames, parameterTypes, pastTriggers, maxRowBytes } = queries
  const statement = prepareStatement(query)
  const text = encodeText(statement.text)
  const encoded = typeof text === 'string' ? text : await text
  const { skippedFields, params } = query
  const checkMade = principal.key.type === 'default' ? undefined : () => pastTriggers.check(principal)
  const limits = queries.limitsOf(principal)
  const makeFormat =
    ownFormat ??
    (query.format === 'arrow' || query.format === 'parquet'
      ? await arrowFormat(queries, principal, query, gone)
      : createFormat)
  let isAnswered = false
  const openOnce = () => {
    isAnswered = true
    return open()
  }
  const options = {
    kind: 'query',
    text: query.sql,
    limits,
    // Strangers run it: what it calls must not write with the rights of the key.
    access: principal.isGuest ? 'read' : undefined,
    gone,
    reader,
    isAnswered: () => isAnswered,
    isAside,
  } as const
  return runAs(databases, principal, options, (run) => {
    const bind = params && binding(params, (oids) => parameterTypes.syntaxes(run.session.target, oids))
    const format = makeFormat(query)
    return new QueryRun(run, {
      statement,
      encoded,
      bind,
      format,
      open: openOnce,
      warn,
      skippedFields,
      columnLists,
      typeNames,
      maxRowBytes,
      total,
      checkMade,
    }).answer
  })
}

/** Looks types of parameters up, on a connection of its own. */
export async function learnTypes(
  { databases, parameterTypes, limitsOf }: Queries,
  principal: Principal,
  oids: readonly number[],
  gone: AbortLike,
): Promise<void> {
  const options = { kind: 'query', limits: limitsOf(principal), gone, isAside: true } as const
  await runAs(databases, principal, options, (run) =>
    run.watch((session) => parameterTypes.learn(session, oids)),
  )
}

/** Loads the library when it is first needed. */
async function arrowFormat(
  queries: Queries,
  principal: Principal,
  query: Query,
  gone: AbortLike,
): Promise<() => RowFormat> {
  const { databases, geometryTypes } = queries
  const options = { limits: queries.limitsOf(principal), gone }
  const [{ ArrowFormat }, oids] = await Promise.all([
    import('./arrow/arrow-format.ts'),
    geometryTypes.find(databases, principal, options),
  ])
  return () => new ArrowFormat(query, oids)
}

export function createFormat(query: Query): RowFormat {
  switch (query.format) {
    case 'json':
    case 'arraybuffer':
      return new JsonFormat(query)
    case 'ndjson':
      return new NdjsonFormat(query)
    case 'geojson':
    case 'topojson':
      return new GeojsonFormat(query)
    case 'csv':
      return new CsvFormat(query)
    case 'svg':
      return new SvgFormat()
    default:
      throw new TypeError(`${query.format} is not written here`)
  }
}
