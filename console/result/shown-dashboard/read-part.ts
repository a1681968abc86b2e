import { sendForBytes } from '../../../src/client/http/send-checked.ts'
import type { DashboardDocument, DashboardPart, PartKind } from '../../../src/contract/dashboards.ts'
import { ownConnection } from '../../api/request.ts'
import { Result } from '../result.ts'
import type { ResultColumn, ResultRow } from '../worker/protocol.ts'
import { inTurn } from './in-turn.ts'

/** The values of the filters by parameter, as they are sent. Empty ones are left out. */
export type FilterTexts = Readonly<Record<string, string>>

export type PartSource = Readonly<{
  account: string
  part: DashboardPart
  queries: DashboardDocument['queries']
  texts: FilterTexts
}>

/** What was read of a part. `result` holds rows that are not read yet, in a worker. */
export type PartRows =
  | Readonly<{ kind: 'rows'; columns: readonly ResultColumn[]; rows: readonly ResultRow[] }>
  | Readonly<{ kind: 'result'; result: Result }>

/** The limit of rows in one request. */
export const mostRows: Readonly<Record<PartKind, number>> = {
  table: 1_000,
  number: 1,
  chart: 100_000,
  map: 10_000,
}

/** Reads a part with the session's key, or without a key. The caller must drop the result. */
export function readPart(source: PartSource, signal: AbortSignal): Promise<PartRows> {
  return inTurn(signal, async () => {
    const result = openResult(source)
    const stop = () => result.drop()
    signal.addEventListener('abort', stop)
    try {
      await result.ended
      signal.throwIfAborted()
      // A dropped worker sends no answer: from here on this function, or its caller, drops the result.
      signal.removeEventListener('abort', stop)
      const { kind } = result.outcome.peek()!
      const error = result.error.peek()
      if (error) throw error
      if (kind === 'full') throw new Error('The rows of this query are too large to be shown here.')
      if (source.part.as === 'chart' || source.part.as === 'map') return { kind: 'result', result }
      return await takeRows(result)
    } catch (error) {
      result.drop()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
  })
}

/** The worker is not needed any more. */
async function takeRows(result: Result): Promise<PartRows> {
  const { columns, rows: count } = result.progress.peek()
  const rows = await result.ask('rows', { from: 0, count })
  result.drop()
  return { kind: 'rows', columns, rows }
}

function openResult({ account, part: { query, as }, queries, texts }: PartSource): Result {
  const call = {
    parameters: { name: account, query },
    query: { ...textsFor(queries, query, texts), rows_per_page: mostRows[as] },
  }
  const { connection } = ownConnection('runQueryByGet')
  return new Result('', { kind: 'key', username: account, token: null }, {}, (signal) =>
    sendForBytes(connection, 'runQueryByGet', { ...call, signal }),
  )
}

/** The texts for the parameters of the query. An array takes one value. */
export function textsFor(queries: PartSource['queries'], query: string, texts: FilterTexts): FilterTexts {
  const params = Object.hasOwn(queries, query) ? queries[query]!.params : {}
  const sent = Object.entries(texts).filter(([name, text]) => text !== '' && Object.hasOwn(params, name))
  return Object.fromEntries(
    sent.map(([name, text]) => [name, params[name]!.type.endsWith('[]') ? JSON.stringify([text]) : text]),
  )
}
