import { finished } from 'node:stream/promises'
import type { Principal } from '../auth/account.ts'
import type { Format } from '../contract/formats.ts'
import { defaultDecimals } from '../contract/limits.ts'
import type { FrameId } from '../contract/session-frames.ts'
import { errors } from '../errors.ts'
import type { WireError } from '../postgres/wire/wire-error.ts'
import { createFormat, learnTypes, type Queries } from '../query/answer-query.ts'
import { encodeText } from '../query/encode-text.ts'
import { binding } from '../query/params/bind-values.ts'
import { UnknownTypes } from '../query/params/parameter-types.ts'
import { prepareStatement } from '../query/prepare-statement.ts'
import type { Query } from '../query/query.ts'
import { completed, QueryRun } from '../query/query-run.ts'
import type { Summary } from '../query/rows/row-format.ts'
import { containsListen } from '../sql/query-kind.ts'
import type { KeptSession } from '../statements/kept-session.ts'
import type { ClientWait } from '../statements/time-limits.ts'
import { unlessAborted } from '../waiting/unless-aborted.ts'
import { ByteFrames, type FrameSink, type Peer, RowFrames } from './frame-sink.ts'
import { SummarizedFormat } from './summarized-format.ts'

/** A statement of a session. */
export type SessionQuery = Readonly<{
  id: FrameId
  sql: string
  /** The values, as in `Query`. */
  params: readonly string[] | undefined
  format: Format
}>

export type StatementTools = Readonly<{
  queries: Queries
  kept: KeptSession
  principal: Principal
  peer: Peer
  gone: AbortSignal
  checkMade: (() => Promise<void>) | undefined
  onNotice: (notice: WireError) => void
  onRows: (count: () => number) => void
}>

/** Runs a statement in the session, and sends its rows. Returns the rest of the answer. */
export async function runStatement(tools: StatementTools, asked: SessionQuery): Promise<Summary> {
  if (containsListen(asked.sql)) throw errors.listenRefused()
  try {
    return await runOnce(tools, asked)
  } catch (error) {
    if (!(error instanceof UnknownTypes)) throw error
    await learnTypes(tools.queries, tools.principal, error.oids, tools.gone)
    return await runOnce(tools, asked)
  }
}

async function runOnce(tools: StatementTools, asked: SessionQuery): Promise<Summary> {
  const { queries, kept, principal, gone, checkMade, onNotice } = tools
  const { columnLists, typeNames, parameterTypes, maxRowBytes } = queries
  const query = queryOf(asked)
  const statement = prepareStatement(query)
  const encoded = await encodeText(statement.text)
  const { skippedFields, params } = query
  const sink = sinkFor(tools, asked)
  const format = new SummarizedFormat(createFormat(query))
  try {
    return await kept.run(principal, query.sql, gone, async (run) => {
      const bind = params && binding(params, (oids) => parameterTypes.syntaxes(run.session.target, oids))
      const { answer } = new QueryRun(run, {
        statement,
        encoded,
        bind,
        format,
        open: () => ({ sink, wait: untimed }),
        skippedFields,
        columnLists,
        typeNames,
        maxRowBytes,
        total: undefined,
        checkMade,
        onNotice,
      })
      const short = await answer
      if (short !== null) sink.end(short, 'latin1')
      await unlessAborted(gone, finished(sink)).catch(() => {
        throw completed(errors.clientLeft())
      })
      return format.summary!
    })
  } finally {
    sink.stop()
  }
}

/** The peer itself cuts a client that stands still. */
const untimed: ClientWait = { begin: () => undefined, end: () => undefined }

/** Rows of JSON are sent many to a frame, which needs to know where they end. */
function queryOf({ sql, params, format }: SessionQuery): Query {
  return {
    sql,
    params,
    format: format === 'json' ? 'ndjson' : format,
    paging: undefined,
    skippedFields: new Set(),
    decimals: defaultDecimals,
    filename: undefined,
  }
}

function sinkFor({ peer, onRows }: StatementTools, { id, format }: SessionQuery): FrameSink {
  if (format !== 'json') return new ByteFrames(peer)
  const rows = new RowFrames(peer, id)
  onRows(() => rows.rowCount)
  return rows
}
