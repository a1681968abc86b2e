import type { Setting } from './protocol.ts'
import {
  control,
  endBackend,
  type Flight,
  newId,
  putRun,
  putWorker,
  type Row,
  type Run,
  type State,
  type Status,
  type Write,
} from './state.ts'

/** What a worker knows of a job that it has just read. A flight in it is settled before anything else. */
export function beginRun({ protocol }: Setting, state: State, row: Row): Run {
  const flight = protocol.isFlightSettled ? row.flight : null
  return {
    stage: flight ? 'settle' : 'ready',
    claim: row.claim!,
    revision: row.revision,
    epoch: control(state).epoch,
    step: row.step,
    flight,
    settled: null,
    rival: null,
    message: null,
  }
}

/** On to the next item, or to the end. */
export function finishItem({ items }: Setting, state: State, index: number): State {
  const step = state.workers[index]!.run!.step + 1
  const next = putRun(state, index, { stage: 'ready', step, flight: null, settled: null, rival: null })
  return step === items ? endJob(next, index, 'done') : putRun(next, index, { message: null })
}

export function endJob(state: State, index: number, status: Status): State {
  return write(state, index, { status, isReleased: true })
}

/** Sends what has become of the job, to be repeated until it is answered. */
export function write(
  state: State,
  index: number,
  change: Partial<Pick<Write, 'status' | 'flight' | 'isReleased'>>,
): State {
  const [named, id] = newId(state)
  const { claim, revision, epoch, step } = named.workers[index]!.run!
  const unchanged = { status: 'running', flight: null, isReleased: false } as const
  const message: Write = { kind: 'write', claim, revision, id, epoch, step, ...unchanged, ...change }
  return putRun(named, index, { stage: 'writing', flight: message.flight, message })
}

/** Marks on another host that a statement is about to be sent there. */
export function mark(state: State, index: number, settled: Flight | null): State {
  const { step, flight } = state.workers[index]!.run!
  const message = { kind: 'mark', step, flight: flight!, settled } as const
  return putRun(state, index, { stage: 'marking', settled, rival: null, message })
}

/** Leaves a job that has ended or is no longer its own, and the transaction that was begun for it. */
export function drop(state: State, index: number): State {
  const { run } = state.workers[index]!
  return putWorker(endBackend(state, run!.flight), index, { run: null })
}
