import { type Principal, sessionTargetOf } from '../auth/account.ts'
import { lendSession } from '../auth/lend-session.ts'
import type { Config } from '../config.ts'
import { errors } from '../errors.ts'
import type { Databases } from '../postgres/databases.ts'
import { stopStatement } from '../postgres/stop-statement.ts'
import { createFormat } from './create-format.ts'
import { prepareStatement } from './prepare-statement.ts'
import type { Query } from './query.ts'
import { type Answer, QueryRun } from './query-run.ts'
import { TypeNames } from './type-names.ts'

/** What all queries of a process share. */
export type Queries = Readonly<{
  databases: Databases
  typeNames: TypeNames
  limitMs: number
  maxRowBytes: number
}>

export function openQueries(config: Config, databases: Databases): Queries {
  const { queryTimeoutMs: limitMs, queryMaxRowBytes: maxRowBytes } = config
  return { databases, typeNames: new TypeNames(), limitMs, maxRowBytes }
}

/**
 * Runs the query as the key's own role and answers with its rows. If `gone` fires, nobody waits for the answer: the
 * statement is cancelled at once.
 */
export async function answerQuery(
  { databases, typeNames, limitMs, maxRowBytes }: Queries,
  principal: Principal,
  query: Query,
  gone: AbortSignal,
): Promise<Answer> {
  const statement = prepareStatement(query)
  const free = databases.query.acquire(sessionTargetOf(principal), gone)
  const session = await lendSession(principal, free)
  const run = new QueryRun({
    session,
    statement,
    format: createFormat(query),
    skippedFields: query.skippedFields,
    typeNames,
    limitMs,
    maxRowBytes,
    stop: (ended) => stopStatement(databases, session, ended),
  })
  const stop = () => run.stop(errors.clientLeft())
  gone.addEventListener('abort', stop, { once: true })
  if (gone.aborted) stop()
  return run.answer
}
