import { AppError } from '../errors.ts'
import type { Flight } from '../jobs/job-store.ts'
import type { Session } from '../postgres/session.ts'
import { hasSqlstate, sqlstate } from '../postgres/sqlstate.ts'
import type { WireError } from '../postgres/wire/wire-error.ts'
import type { WireOutcome } from '../postgres/wire/wire-handler.ts'
import { binding } from '../query/params/bind-values.ts'
import { type ParameterTypes, type TypeRow, UnknownTypes } from '../query/params/parameter-types.ts'
import { classifyJobItem, isLongJobItem, learnJobItem } from '../sql/job-statement.ts'
import { StatementWatch } from './statement-watch.ts'

/**
 * One text that runs as one message: inside a transaction of the service if possible, perhaps one begun ahead. Its xid
 * then always shows whether it committed. A text that cannot run in a transaction runs outside, alone.
 */
export type StepStatement = Readonly<{
  text: string
  /** The JSON text of each bind parameter. */
  params: readonly string[] | undefined
  parameterTypes: ParameterTypes
  timeoutMs: number
  /** Its database is in the cluster of the control database. */
  isBesideControl: boolean
  /** PostgreSQL refused to run it inside a transaction. */
  isRefusedInside: boolean
  /** If it succeeds, another one follows: begin a transaction ahead for it. */
  isFollowed: boolean
}>

/** `not-sent`: the connection was lost before anything was sent. */
export type Begun =
  | Readonly<{ kind: 'begun'; flight: Flight }>
  | Readonly<{ kind: 'not-sent'; cause: unknown }>

/** The connection was lost after the statement was sent: only PostgreSQL knows the outcome. */
export type Loss = Readonly<{
  kind: 'lost'
  flight: Flight
  reason: string
  isTimedOut: boolean
  /** The statement cannot have caused it. */
  isInnocent: boolean
  /** Why we ended its backend, if we did. */
  endReason?: string | undefined
  /** The connection ended without an error from the server: if the backend still runs, the network cut it. */
  isCut: boolean
}>

export type StepOutcome =
  | Readonly<{ kind: 'succeeded'; isOutside: boolean; ahead: Flight | null; rows: number | undefined }>
  | Readonly<{ kind: 'failed'; reason: string; sqlstate?: string; isOutside: boolean }>
  /** Nothing has happened; the statement needs to run outside a transaction. */
  | Readonly<{ kind: 'refused' }>
  | Loss

function isOutside({ text, isRefusedInside }: StepStatement): boolean {
  return isRefusedInside || classifyJobItem(text) === 'own-transaction'
}

/** Prepares a connection for a statement, and learns how to identify it later. `ahead`: already done. */
export async function beginStatement(
  session: Session,
  statement: StepStatement,
  ahead: Flight | null,
): Promise<Begun> {
  if (isLongJobItem(statement.text)) await learnJobItem(statement.text)
  if (!isOutside(statement)) return ahead ? { kind: 'begun', flight: ahead } : prepare(session, begin)
  return prepare(session, `${limit(statement, 'session')}; select null as xid`)
}

/** Begins a transaction, whose xid tells later what became of it. Roles of keys cannot ask for `backendStart` themselves. */
export function beginTransaction(session: Session, backendStart: string): Promise<Begun> {
  backendStarts.set(session, backendStart)
  return prepare(session, begin)
}

const begin = 'begin; select pg_catalog.pg_current_xact_id()::pg_catalog.text as xid'

async function prepare(session: Session, text: string): Promise<Begun> {
  try {
    await session.clean()
    const backendStart = backendStarts.get(session) ?? (await askBackendStart(session))
    const results = [await session.query<{ xid: string | null }>(text)].flat()
    const { xid } = results.at(-1)!.rows[0]!
    return { kind: 'begun', flight: { pid: session.processId, backendStart, xid } }
  } catch (cause) {
    return { kind: 'not-sent', cause }
  }
}

/** Queried once per connection, as it costs PostgreSQL more than the rest of the preparation. */
const backendStarts = new WeakMap<Session, string>()

async function askBackendStart(session: Session): Promise<string> {
  const { rows } = await session.query<{ start: string }>(
    'select a.backend_start::pg_catalog.text as start from pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a',
  )
  const { start } = rows[0]!
  backendStarts.set(session, start)
  return start
}

/** Sends a begun and announced statement, and waits for its end. */
export async function sendStatement(
  session: Session,
  statement: StepStatement,
  flight: Flight,
  interrupted: AbortSignal,
): Promise<StepOutcome> {
  const watch = new StatementWatch(session, statement.timeoutMs, interrupted)
  try {
    const outcome =
      flight.xid === null
        ? await sendOutside(session, watch, statement, flight)
        : await sendInside(session, watch, statement, { ...flight, xid: flight.xid })
    if (outcome.kind !== 'failed' || !session.endReason) return outcome
    return { ...outcome, reason: session.endReason.message }
  } catch (error) {
    const { isTimedOut, isInnocent } = watch
    const isCut = hasSqlstate(error, sqlstate.connectionFailure)
    const endReason = session.endReason?.message
    return {
      kind: 'lost',
      flight,
      reason: (error as Error).message,
      isTimedOut,
      isInnocent,
      isCut,
      endReason,
    }
  } finally {
    watch.end()
  }
}

async function sendInside(
  session: Session,
  watch: StatementWatch,
  statement: StepStatement,
  flight: Flight & { xid: string },
): Promise<StepOutcome> {
  const [, ran, committed, cleaned, begun] = await sendAndCommit(session, watch, statement, flight.xid)
  if (ran?.error) return isRefusal(statement, ran.error) ? { kind: 'refused' } : failed(ran.error, false)
  if (committed?.error) return failed(committed.error, false)
  if (watch.isUnconfirmed) return unconfirmed(flight)
  const isCleaned = cleaned?.error === null
  if (isCleaned && !begun) session.noteClean()
  const isBegun = isCleaned && begun?.error === null
  const ahead = isBegun ? { ...flight, xid: watch.lastValue } : null
  return { kind: 'succeeded', isOutside: false, ahead, rows: watch.rows }
}

/**
 * A cancel ended the wait for the synchronous replicas: the transaction is committed, but a fail-over may lose it.
 * Settling the flight waits for the replicas.
 */
function unconfirmed(flight: Flight): Loss {
  const reason = 'the commit was not confirmed by the replicas'
  return { kind: 'lost', flight, reason, isTimedOut: false, isInnocent: true, isCut: false }
}

/** Sent together, so that no wait, stop or kill can come between the statement and its commit. */
async function sendAndCommit(
  session: Session,
  watch: StatementWatch,
  statement: StepStatement,
  xid: string,
): Promise<readonly WireOutcome[]> {
  const { text, params, isFollowed } = statement
  const texts = [limit(statement, 'local'), text, commit(statement, xid), 'discard all']
  if (params) {
    const limited = await watch.run(texts.slice(0, 1), 1)
    const ran = await sendBound(session, watch, statement, params)
    return ran.error ? [...limited, ran] : [...limited, ran, ...(await watch.run(texts.slice(2), 1))]
  }
  const statementPlace = { statement: 1 }
  if (!/copy/i.test(text)) {
    const all = isFollowed ? [...texts, begin] : texts
    return watch.run(all, 3, { readsLast: isFollowed, ...statementPlace })
  }
  // COPY FROM STDIN would take the other messages for its data.
  const first = await watch.run(texts.slice(0, 2), 2, statementPlace)
  return first[1]!.error ? first : [...first, ...(await watch.run(texts.slice(2), 1))]
}

/**
 * Sends a statement with bind parameters. Alone: a commit behind values that do not fit would commit a transaction in
 * which nothing ran.
 */
async function sendBound(
  session: Session,
  watch: StatementWatch,
  { text, parameterTypes }: StepStatement,
  params: readonly string[],
): Promise<WireOutcome> {
  let refusal: unknown
  const values = binding(params, (oids) => parameterTypes.syntaxes(session.target, oids))
  const bind = (types: readonly number[]) => {
    try {
      return values(types)
    } catch (error) {
      refusal = error
      return null
    }
  }
  const send = async () => (await watch.run([{ text, bind }], 1, { statement: 0 }))[0]!
  let outcome = await send()
  if (refusal instanceof UnknownTypes) {
    await parameterTypes.learn(session, refusal.oids, askInPlace)
    refusal = undefined
    outcome = await send()
  }
  if (refusal === undefined) return outcome
  if (refusal instanceof AppError) return { ...outcome, error: refusedValues(refusal) }
  throw refusal
}

/** In a transaction of ours or in none, which goes on as it was. */
async function askInPlace(session: Session, text: string, values: unknown[]) {
  const isInside = session.transactionStatus === 'T'
  const [first, last] = isInside ? ['savepoint cartage', 'rollback to cartage'] : ['begin', 'rollback']
  await session.query(`${first}; set local search_path = pg_catalog`)
  const answer = await session.query<TypeRow>(text, values)
  await session.query(last)
  return answer
}

const refusedValues = ({ message }: AppError): WireError => ({
  severity: 'ERROR',
  message,
  sqlstate: sqlstate.invalidParameterValue,
})

/**
 * Commits, if the transaction is still that of the service. On the host of the control database the commit need not
 * wait for the disk: the record that the statement is done comes later in the same WAL, and does wait.
 */
export function commit({ isBesideControl }: Pick<StepStatement, 'isBesideControl'>, xid: string): string {
  return `set local synchronous_commit = ${isBesideControl ? 'off' : 'on'};
    select (case when pg_catalog.pg_current_xact_id_if_assigned() operator(pg_catalog.=) '${xid}'::pg_catalog.xid8
     then '1' else 'the statement has ended the transaction it ran in' end)::pg_catalog.int4;
    commit`
}

/** PostgreSQL's error for a text that must run outside a transaction. */
function isRefusal({ text }: StepStatement, { sqlstate: state }: WireError): boolean {
  const wantsOutside =
    state === sqlstate.activeSqlTransaction || state === sqlstate.invalidTransactionTermination
  return wantsOutside && classifyJobItem(text) === 'may-commit'
}

async function sendOutside(
  session: Session,
  watch: StatementWatch,
  statement: StepStatement,
  flight: Flight,
): Promise<StepOutcome> {
  const { text, params } = statement
  const ran = params
    ? await sendBound(session, watch, statement, params)
    : (await watch.run([text], 1, { statement: 0 }))[0]!
  if (ran.error) return failed(ran.error, true)
  if (watch.isUnconfirmed) return unconfirmed(flight)
  if (ran.transactionStatus === 'I')
    return { kind: 'succeeded', isOutside: true, ahead: null, rows: watch.rows }
  return { kind: 'failed', reason: leftOpen, isOutside: true }
}

const leftOpen = 'The statement left a transaction open, which was rolled back'

function failed({ message, sqlstate: state }: WireError, isOutside: boolean): StepOutcome {
  return { kind: 'failed', reason: message, sqlstate: state, isOutside }
}

function limit({ timeoutMs }: StepStatement, scope: 'local' | 'session'): string {
  return `set ${scope} statement_timeout = ${timeoutMs}`
}
