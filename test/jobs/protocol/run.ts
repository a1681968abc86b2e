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
  type Write,
} from './state.ts'

/** What a worker knows of a job that it has just read. A flight in it is settled first. */
export function beginRun({ protocol }: Setting, state: State, row: Row): Run {
  const flight = protocol.isFlightSettled ? row.flight : null
  return {
    stage: flight ? 'settle' : 'ready',
    claim: row.claim!,
    revision: row.revision,
    epoch: control(state).epoch,
    job: row.job,
    flight,
    settled: null,
    rival: null,
    isRetried: false,
    message: null,
  }
}

/** The running item has ended: continue with the next one, or end the job. */
export function endItem(state: State, index: number, how: 'succeed' | 'fail' | 'lose'): State {
  const job = state.workers[index]!.run!.job.after(how)
  const none = { flight: null, settled: null, rival: null, message: null }
  const next = putRun(state, index, { stage: 'ready', job, ...none })
  return job.isFinal ? write(next, index, { isReleased: true }) : next
}

/** The failed item waits for its next attempt: the job goes back to the queue. */
export function retryItem(state: State, index: number): State {
  const job = state.workers[index]!.run!.job.after('retry')
  return write(state, index, { job, isReleased: true })
}

/** Sends the outcome of the item, and repeats it until it is answered. */
export function write(
  state: State,
  index: number,
  change: Partial<Pick<Write, 'job' | 'flight' | 'isReleased'>>,
): State {
  const [named, id] = newId(state)
  const { claim, revision, epoch, job } = named.workers[index]!.run!
  const unchanged = { flight: null, isReleased: false }
  const message: Write = { kind: 'write', claim, revision, id, epoch, job, ...unchanged, ...change }
  return putRun(named, index, { stage: 'writing', job: message.job, flight: message.flight, message })
}

/** Writes a mark on another host before a statement is sent there. */
export function mark(state: State, index: number, settled: Flight | null): State {
  const { job, flight } = state.workers[index]!.run!
  const message = { kind: 'mark', item: job.item, flight: flight!, settled } as const
  return putRun(state, index, { stage: 'marking', settled, rival: null, message })
}

/** Drops a job that has ended or was taken away, and the transaction begun for it. */
export function drop(state: State, index: number): State {
  const { run } = state.workers[index]!
  return putWorker(endBackend(state, run!.flight), index, { run: null })
}
