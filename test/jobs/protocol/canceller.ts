import { type Act, may, spend } from './acts.ts'
import { changeRow, putMark, settle } from './messages.ts'
import type { Progress } from './progress.ts'
import type { Setting } from './protocol.ts'
import { type Canceller, host, isSame, newId, rowOf, type State } from './state.ts'

/** All that a canceller may do next. It holds the lock of the row while it works; if it dies, nothing was answered. */
export function cancellerActs(setting: Setting, state: State): readonly Act[] {
  const { canceller } = state
  if (!canceller) return lock(setting, state)
  if (canceller.flight) return stop(setting, state, canceller)
  // The last item may have committed before it could be stopped.
  if (canceller.job.isFinal) return write(state, canceller.job)
  return canceller.mustMark ? bar(state, canceller) : write(state, canceller.job.after('cancel'))
}

function lock({ protocol, place }: Setting, state: State): readonly Act[] {
  const { job, flight } = rowOf(state)
  const { isCancelPending } = state
  if (job.isFinal || !(isCancelPending || may(state, 'cancel'))) return []
  const { cancelMarkedFor } = protocol
  const isMarked = cancelMarkedFor === 'everybody' || (cancelMarkedFor !== 'nobody' && flight === null)
  const canceller = { job, flight, settled: null, mustMark: isMarked && place !== 'same log' }
  const spent = isCancelPending ? { ...state, isCancelPending: false } : spend(state, 'cancel')
  return [['the canceller locks the row', { ...spent, canceller }]]
}

/**
 * Ends the backend of the flight and asks for the outcome: a committed item is done, and the cancel applies to the
 * rest.
 */
function stop(setting: Setting, state: State, canceller: Canceller): readonly Act[] {
  const { flight } = canceller
  const job = canceller.job.begun()
  const settled = settle(setting, state, job.item, flight!)
  if (!settled) return []
  const { outcome, state: after } = settled
  const goOn = (change: Partial<Canceller>) => ({
    ...after,
    canceller: { ...canceller, flight: null, ...change },
  })
  const next = {
    committed: () => goOn({ job: job.after('succeed'), settled: null }),
    unknown: () => goOn({ job: job.after('lose'), settled: null }),
    unconfirmed: () => ({ ...after, canceller: null, isCancelPending: true }),
    aborted: () => goOn({ settled: flight }),
  }[outcome]()
  return [[`the canceller settles the flight of item ${job.item}: ${outcome}`, next]]
}

/** Writes its own mark, so that a worker whose announcement was lost can no longer begin; or finds a mark to settle. */
function bar(state: State, canceller: Canceller): readonly Act[] {
  const { job, settled } = canceller
  const { item } = job
  const there = host(state).log.marks[item]!
  if (there && !isSame(there, settled)) {
    return [['the canceller finds a mark', { ...state, canceller: { ...canceller, flight: there } }]]
  }
  const [named, id] = newId(state)
  const marked = putMark(named, item, { id, xid: 0 })
  return [[`the canceller marks item ${item}`, { ...marked, canceller: { ...canceller, mustMark: false } }]]
}

function write(state: State, job: Progress): readonly Act[] {
  const change = { job, flight: null, worker: null, claim: null, writeId: null }
  const written = { ...changeRow(state, change, true), canceller: null }
  return [[`the canceller writes ${job.status}`, written]]
}
