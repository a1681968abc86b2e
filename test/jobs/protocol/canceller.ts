import { type Act, may, spend } from './acts.ts'
import { changeRow, putMark, settle } from './messages.ts'
import type { Setting } from './protocol.ts'
import { type Canceller, host, isFinal, isSame, newId, rowOf, type State, type Status } from './state.ts'

/** All that a canceller may do next. While it works nobody else can write to the row; should it die, nothing was said. */
export function cancellerActs(setting: Setting, state: State): readonly Act[] {
  const { canceller } = state
  if (!canceller) return lock(state)
  const mustMark =
    setting.place === 'another host' &&
    setting.protocol.outcomeBy === 'mark' &&
    setting.protocol.isCancelMarked &&
    !canceller.hasMarked &&
    canceller.step < setting.items
  if (canceller.flight) return stop(setting, state, canceller)
  if (mustMark) return bar(state, canceller)
  // The last item may have committed before it could be stopped.
  return write(setting, state, canceller.step, canceller.step === setting.items ? 'done' : 'cancelled')
}

function lock(state: State): readonly Act[] {
  const { status, step, flight } = rowOf(state)
  if (!may(state, 'cancel') || isFinal(status)) return []
  const canceller = { step, flight, settled: null, hasMarked: false }
  return [['the canceller locks the row', { ...spend(state, 'cancel'), canceller }]]
}

/** Ends the backend of the flight and asks: an item that has committed is done, and the cancel is about what follows. */
function stop(setting: Setting, state: State, canceller: Canceller): readonly Act[] {
  const { step, flight } = canceller
  const settled = settle(setting, state, step, flight!)
  if (!settled) return []
  if (settled.outcome === 'unknown') return write(setting, settled.state, step, 'unknown')
  const isDone = settled.outcome === 'committed'
  const next = { ...canceller, step: isDone ? step + 1 : step, flight: null, settled: isDone ? null : flight }
  return [
    [
      `the canceller settles the flight of item ${step}: ${settled.outcome}`,
      { ...settled.state, canceller: next },
    ],
  ]
}

/** Leaves a mark of its own, so that a worker whose announcement was lost can no longer begin; or finds one to settle. */
function bar(state: State, canceller: Canceller): readonly Act[] {
  const { step, settled } = canceller
  const there = host(state).log.marks[step]!
  if (there && !isSame(there, settled)) {
    return [['the canceller finds a mark', { ...state, canceller: { ...canceller, flight: there } }]]
  }
  const [named, id] = newId(state)
  const marked = putMark(named, step, { id, xid: 0 })
  return [[`the canceller marks item ${step}`, { ...marked, canceller: { ...canceller, hasMarked: true } }]]
}

function write({ protocol }: Setting, state: State, step: number, status: Status): readonly Act[] {
  const claim = protocol.claimBy === 'id' ? null : rowOf(state).claim
  const change = { status, step, flight: null, worker: null, claim, writeId: null } as const
  return [[`the canceller writes ${status}`, { ...changeRow(state, change, true), canceller: null }]]
}
