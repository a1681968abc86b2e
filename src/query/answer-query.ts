import type { Writable } from 'node:stream'
import { type Principal, sessionTargetOf } from '../auth/account.ts'
import { blameRevocation, lendSession } from '../auth/lend-session.ts'
import { requireListed } from '../auth/listed-statements.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import type { Databases } from '../postgres/databases.ts'
import type { Interruption } from '../postgres/pools/interruption.ts'
import { StatementRun } from '../postgres/statement-run.ts'
import { encodeText } from './encode-text.ts'
import { binding } from './params/bind-values.ts'
import { ParameterTypes, UnknownTypes } from './params/parameter-types.ts'
import { prepareStatement } from './prepare-statement.ts'
import type { Query } from './query.ts'
import { type Answer, QueryRun } from './query-run.ts'
import { ColumnLists } from './rows/columns.ts'
import { CsvFormat } from './rows/csv-format.ts'
import { GeojsonFormat } from './rows/geojson-format.ts'
import { JsonFormat } from './rows/json-format.ts'
import { NdjsonFormat } from './rows/ndjson-format.ts'
import type { RowFormat } from './rows/row-format.ts'
import { TypeNames } from './type-names.ts'
import { UnwatchedCommands } from './unwatched-commands.ts'

/** What all queries of a process share. */
export type Queries = Readonly<{
  databases: Databases
  columnLists: ColumnLists
  typeNames: TypeNames
  parameterTypes: ParameterTypes
  unwatched: UnwatchedCommands
  limitMs: number
  maxRowBytes: number
}>

export function openQueries(config: Config, databases: Databases, log: Log): Queries {
  const { queryTimeoutMs: limitMs, queryMaxRowBytes: maxRowBytes } = config
  const shared = {
    columnLists: new ColumnLists(),
    typeNames: new TypeNames(),
    parameterTypes: new ParameterTypes(),
    unwatched: new UnwatchedCommands(databases, log),
  }
  return { databases, ...shared, limitMs, maxRowBytes }
}

/** Who gets the rows. */
export type Client = Readonly<{
  /** Fires when it leaves: nobody waits for the answer, so the statement is cancelled at once. */
  gone: Interruption
  /** Where an answer is written that is not short. */
  open: () => Writable
}>

/** Runs the query as the key's own role and answers with its rows. */
export function answerQuery(
  queries: Queries,
  principal: Principal,
  query: Query,
  client: Client,
): Promise<Answer> {
  const answer = () => blameRevocation(principal, answerOnce(queries, principal, query, client))
  if (query.params === undefined) return answer()
  return answer().catch(async (error: unknown) => {
    if (!(error instanceof UnknownTypes)) throw error
    await learnTypes(queries, principal, error.oids, client.gone)
    return await answer()
  })
}

async function answerOnce(
  { databases, columnLists, typeNames, parameterTypes, unwatched, limitMs, maxRowBytes }: Queries,
  principal: Principal,
  query: Query,
  { gone, open }: Client,
): Promise<Answer> {
  const statement = prepareStatement(query)
  requireListed(principal, query.sql)
  const text = encodeText(statement.text)
  const encoded = typeof text === 'string' ? text : await text
  const format = createFormat(query)
  const target = sessionTargetOf(principal)
  const session =
    (principal.isCurrent() ? databases.query.take(target, gone) : undefined) ??
    (await lendSession(principal, databases.query.acquire(target, gone)))
  const run = new StatementRun({ databases, session, limitMs, gone })
  const { skippedFields, params } = query
  const bind = params && binding(params, (oids) => parameterTypes.syntaxes(session.target, oids))
  const judge = principal.key.type === 'default' ? undefined : () => unwatched.judge(principal)
  const options = {
    statement,
    encoded,
    bind,
    format,
    open,
    skippedFields,
    columnLists,
    typeNames,
    maxRowBytes,
    judge,
  }
  return await new QueryRun(run, options).answer
}

async function learnTypes(
  { databases, parameterTypes }: Queries,
  principal: Principal,
  oids: readonly number[],
  gone: Interruption,
): Promise<void> {
  const session = await lendSession(principal, databases.query.acquire(sessionTargetOf(principal), gone))
  try {
    await parameterTypes.learn(session, oids)
  } finally {
    session.release()
  }
}

function createFormat(query: Query): RowFormat {
  switch (query.format) {
    case 'json':
      return new JsonFormat(query)
    case 'ndjson':
      return new NdjsonFormat(query)
    case 'geojson':
      return new GeojsonFormat(query)
    case 'csv':
      return new CsvFormat(query)
  }
}
