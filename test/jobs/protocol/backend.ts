import { type Act, may, spend } from './acts.ts'
import type { Setting } from './protocol.ts'
import { endItem, retryItem } from './run.ts'
import { append, type Backend, endBackend, host, isSame, put, putRun, type State } from './state.ts'

/** A backend that received a statement commits it, even if its connection is gone. */
export function backendActs(setting: Setting, state: State): readonly Act[] {
  return state.backends
    .filter(({ isSent }) => isSent)
    .flatMap((backend) => {
      const isListening = ({ run }: State['workers'][number]) =>
        run?.stage === 'sent' && isSame(run.flight, backend.flight)
      const listener = state.workers.findIndex(isListening)
      const acts = backend.isWaiting
        ? waitForReplica(setting, state, backend, listener)
        : [
            ...commit(setting, state, backend, listener),
            ...fail(state, backend, listener),
            ...failForNow(setting, state, backend, listener),
          ]
      return [...acts, ...loseConnection(state, backend, listener)]
    })
}

function commit({ place }: Setting, state: State, backend: Backend, listener: number): readonly Act[] {
  const { flight, item } = backend
  const name = `the backend of xid ${flight.xid} commits item ${item}`
  const committed = appendCommit(state, backend)
  if (place !== 'synchronous host' || !host(state).replica) {
    return [[name, answer(committed, backend, listener)]]
  }
  const waiting = put(state.backends, state.backends.indexOf(backend), { ...backend, isWaiting: true })
  return [[`${name}, and waits for the replica`, { ...committed, backends: waiting }]]
}

/**
 * In the log of the control database a commit need not wait for the disk: the job's own record comes later and does.
 */
function appendCommit(state: State, { flight, item }: Backend): State {
  const { committedXids, applied } = host(state).log
  const change = {
    committedXids: [...committedXids, flight.xid],
    applied: put(applied, item, applied[item]! + 1),
  }
  return append(state, 'host', change, state.servers.length > 1)
}

/** The transaction has ended; the worker is told if it still listens. */
function answer(state: State, { flight }: Backend, listener: number): State {
  const told = listener === -1 ? state : endItem(state, listener, 'succeed')
  return endBackend(told, flight)
}

/** A commit ends when the replica has confirmed it, or when an administrator cancels the wait: that only warns. */
function waitForReplica(
  { protocol }: Setting,
  state: State,
  backend: Backend,
  listener: number,
): readonly Act[] {
  const { flight } = backend
  if (!host(state).replica) {
    return [[`the commit of xid ${flight.xid} is confirmed`, answer(state, backend, listener)]]
  }
  if (!may(state, 'cancelledWait')) return []
  const cancelled = spend(state, 'cancelledWait')
  const told = protocol.isWarningHeeded ? endBackend(cancelled, flight) : answer(cancelled, backend, listener)
  return [[`the wait of xid ${flight.xid} for the replica is cancelled`, told]]
}

/** The worker gets no answer any more; the backend continues. */
function loseConnection(state: State, { flight }: Backend, listener: number): readonly Act[] {
  if (listener === -1 || !may(state, 'cutConnection')) return []
  const cut = putRun(spend(state, 'cutConnection'), listener, { stage: 'settle' })
  return [[`the connection to xid ${flight.xid} is cut`, cut]]
}

/** The statement raises an error: the transaction is rolled back, and the job ends. */
function fail(state: State, { flight, item }: Backend, listener: number): readonly Act[] {
  if (listener === -1 || !may(state, 'failure')) return []
  return [[`item ${item} fails`, answerFailure(spend(state, 'failure'), flight, listener)]]
}

/** The statement raises an error that may be retried. */
function failForNow(
  { protocol }: Setting,
  state: State,
  { flight, item }: Backend,
  listener: number,
): readonly Act[] {
  if (listener === -1 || !may(state, 'retry')) return []
  const failed = spend(state, 'retry')
  const next = protocol.isRetrySettled
    ? endBackend(putRun(failed, listener, { stage: 'settle', isRetried: true }), flight)
    : endBackend(retryItem(failed, listener), flight)
  return [[`item ${item} fails, and is to be tried again`, next]]
}

function answerFailure(state: State, flight: Backend['flight'], listener: number): State {
  return endBackend(endItem(state, listener, 'fail'), flight)
}
