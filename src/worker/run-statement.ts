import type { Flight } from '../jobs/job-store.ts'
import type { Session } from '../postgres/session.ts'
import { sqlstate } from '../postgres/sqlstate.ts'
import type { WireError } from '../postgres/wire-error.ts'
import type { WireOutcome } from '../postgres/wire-query.ts'
import { classifyJobItem } from '../sql/job-statement.ts'
import { StatementWatch } from './statement-watch.ts'

export type Statement = Readonly<{
  text: string
  timeoutMs: number
  /** Its database lies in the cluster of the control database. */
  isBesideControl: boolean
  /** If it succeeds another one follows, for which a transaction is to be begun ahead. */
  isFollowed: boolean
}>

export type StatementOutcome<Stop> =
  | Readonly<{ kind: 'succeeded'; isOutside: boolean; ahead: Flight | null }>
  | Readonly<{ kind: 'failed'; reason: string; sqlstate?: string; isOutside: boolean }>
  /** The connection went away before anything was sent. */
  | Readonly<{ kind: 'not-sent'; cause: unknown }>
  /** It could not be announced, so it was not sent. */
  | Readonly<{ kind: 'stopped'; by: Stop }>
  /** The connection went away afterwards: only PostgreSQL knows. */
  | Readonly<{ kind: 'lost'; flight: Flight; reason: string; isTimedOut: boolean; isInnocent: boolean }>

export type RunOptions<Stop> = Readonly<{
  session: Session
  /** The transaction that is open already. */
  ahead: Flight | null
  statement: Statement
  /** Writes down that the statement is about to be sent; or says why it must not be. */
  announce: (flight: Flight) => Promise<Stop | undefined>
  interrupted: AbortSignal
}>

/**
 * Runs one text as one message. In a transaction of ours wherever possible, perhaps one that was begun ahead: then its
 * xid tells for ever whether it happened. A text that cannot live in one runs alone.
 */
export async function runStatement<Stop>(options: RunOptions<Stop>): Promise<StatementOutcome<Stop>> {
  const kind = classifyJobItem(options.statement.text)
  if (kind === 'own-transaction') return runOutside(options)
  const outcome = await runInside(options)
  if (outcome.kind !== 'refused') return outcome
  if (kind !== 'may-commit') return failed(outcome.error)
  // Nothing has happened, and outside it may.
  return runOutside(options)
}

type Refused = Readonly<{ kind: 'refused'; error: WireError }>

async function runInside<Stop>(options: RunOptions<Stop>): Promise<StatementOutcome<Stop> | Refused> {
  const { session, ahead, statement, announce, interrupted } = options
  const flight = ahead ?? (await prepare(session, begin))
  if ('kind' in flight) return flight
  const stop = await announce(flight)
  if (stop !== undefined) return { kind: 'stopped', by: stop }
  const watch = new StatementWatch(session, statement.timeoutMs, interrupted)
  try {
    const [, ran, committed, cleaned, begun] = await sendAndCommit(watch, statement, flight.xid!)
    if (ran?.error) return isRefusal(ran.error) ? { kind: 'refused', error: ran.error } : failed(ran.error)
    if (committed?.error) return failed(committed.error)
    const isCleaned = cleaned?.error === null
    if (isCleaned && !begun) session.noteClean()
    const isBegun = isCleaned && begun?.error === null
    return {
      kind: 'succeeded',
      isOutside: false,
      ahead: isBegun ? { ...flight, xid: watch.lastValue } : null,
    }
  } catch (error) {
    return lost(flight, watch, error)
  } finally {
    watch.end()
  }
}

const begin = 'begin; select pg_catalog.pg_current_xact_id()::pg_catalog.text as xid'

/** In one go, so that between the statement and its commit nobody can be waited for, stopped or killed. */
async function sendAndCommit(
  watch: StatementWatch,
  statement: Statement,
  xid: string,
): Promise<readonly WireOutcome[]> {
  const { text, isFollowed } = statement
  const texts = [limit(statement, 'local'), text, commit(statement, xid), 'discard all']
  if (!/copy/i.test(text)) return watch.run(isFollowed ? [...texts, begin] : texts, 3, isFollowed)
  // COPY FROM STDIN would take the other messages for its data.
  const first = await watch.run(texts.slice(0, 2), 2)
  return first[1]!.error ? first : [...first, ...(await watch.run(texts.slice(2), 1))]
}

async function runOutside<Stop>(options: RunOptions<Stop>): Promise<StatementOutcome<Stop>> {
  const { session, statement, announce, interrupted } = options
  const ready = await prepare(session, `${limit(statement, 'session')}; select null as xid`)
  if ('kind' in ready) return ready
  const stop = await announce(ready)
  if (stop !== undefined) return { kind: 'stopped', by: stop }
  const watch = new StatementWatch(session, statement.timeoutMs, interrupted)
  try {
    const [ran] = await watch.run([statement.text], 1)
    if (ran!.error) return { ...failed(ran!.error), isOutside: true }
    if (ran!.transactionStatus === 'I') return { kind: 'succeeded', isOutside: true, ahead: null }
    return { kind: 'failed', reason: leftOpen, isOutside: true }
  } catch (error) {
    return lost(ready, watch, error)
  } finally {
    watch.end()
  }
}

export const timeoutText = 'canceling statement due to statement timeout'

const leftOpen = 'The statement left a transaction open, which was rolled back'

function failed({ message, sqlstate: state }: WireError) {
  return { kind: 'failed', reason: message, sqlstate: state, isOutside: false } as const
}

/** What PostgreSQL says to a text that wants to be outside of a transaction. */
function isRefusal({ sqlstate: state }: WireError): boolean {
  return state === sqlstate.activeSqlTransaction || state === sqlstate.invalidTransactionTermination
}

function lost(flight: Flight, watch: StatementWatch, error: unknown): StatementOutcome<never> {
  const { isTimedOut, isInnocent } = watch
  return { kind: 'lost', flight, reason: (error as Error).message, isTimedOut, isInnocent }
}

function limit({ timeoutMs }: Statement, scope: 'local' | 'session'): string {
  return `set ${scope} statement_timeout = ${timeoutMs}`
}

/** Makes a connection ready for a statement, and learns by what that can be found again. */
async function prepare(
  session: Session,
  text: string,
): Promise<Flight | Extract<StatementOutcome<never>, { kind: 'not-sent' }>> {
  try {
    await session.clean()
    const backendStart = backendStarts.get(session) ?? (await askBackendStart(session))
    const results = [await session.query<{ xid: string | null }>(text)].flat()
    return { pid: session.processId, backendStart, xid: results.at(-1)!.rows[0]!.xid }
  } catch (cause) {
    return { kind: 'not-sent', cause }
  }
}

/** Asked once for each connection, as it costs PostgreSQL more than all the rest of the preparation. */
const backendStarts = new WeakMap<Session, string>()

async function askBackendStart(session: Session): Promise<string> {
  const { rows } = await session.query<{ start: string }>(
    'select a.backend_start::pg_catalog.text as start from pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a',
  )
  const { start } = rows[0]!
  backendStarts.set(session, start)
  return start
}

/**
 * Commits, if the transaction is still ours. Beside the control database the commit need not wait for the disk: the
 * record that the statement is done comes later in the same log, and does wait.
 */
function commit({ isBesideControl }: Statement, xid: string): string {
  return `set local synchronous_commit = ${isBesideControl ? 'off' : 'on'};
    select (case when pg_catalog.pg_current_xact_id_if_assigned() operator(pg_catalog.=) '${xid}'::pg_catalog.xid8
     then '1' else 'the statement has ended the transaction it ran in' end)::pg_catalog.int4;
    commit`
}
