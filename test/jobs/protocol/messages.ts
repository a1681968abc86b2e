import type { StepStatus } from '../../../src/contract/job-status.ts'
import type { Setting } from './protocol.ts'
import {
  append,
  backendOf,
  type Claim,
  control,
  endBackend,
  type Flight,
  host,
  isSame,
  type Mark,
  type Message,
  put,
  type Release,
  type Row,
  rowOf,
  type State,
  type Write,
} from './state.ts'

/** `other`: the row has the mark of another flight, which the sender has not settled. */
export type Answer = 'written' | 'not ours' | 'other epoch' | 'marked' | 'gone' | Readonly<{ other: Flight }>

export type Executed = Readonly<{ state: State; answer: Answer }>

/** What a database does with a message, however late it arrives. Empty: it waits for a lock or for a job. */
export function execute(setting: Setting, state: State, message: Message): Executed | undefined {
  if (message.kind === 'mark') return executeMark(setting, state, message)
  if (state.canceller) return undefined
  if (message.kind === 'write') return executeWrite(setting, state, message)
  const changed = message.kind === 'claim' ? executeClaim(state, message) : executeRelease(state, message)
  return changed && { state: changed, answer: 'written' }
}

/** The fence: a write that is not the next one changes nothing. */
function executeWrite(setting: Setting, state: State, write: Write): Executed {
  const { protocol, place } = setting
  const row = rowOf(state)
  const { epochComparedFor } = protocol
  const isCompared = epochComparedFor === 'everybody' || epochComparedFor === place
  const isOtherEpoch = isCompared && write.epoch !== control(state).epoch
  const isNext =
    row.job.status === 'running' &&
    (!protocol.isClaimCompared || row.claim === write.claim) &&
    (!protocol.isRevisionCompared || row.revision === write.revision)
  if (isNext && !isOtherEpoch) {
    const { job, flight, isReleased, id: writeId } = write
    const holder = isReleased ? { worker: null, claim: null } : {}
    const change = { ...holder, job, flight, writeId }
    return { state: changeRow(state, change, isFlushed(setting, row, write)), answer: 'written' }
  }
  if (protocol.isRepeatRecognised && row.writeId === write.id) return { state, answer: 'written' }
  return { state, answer: isOtherEpoch ? 'other epoch' : 'not ours' }
}

function isFlushed({ protocol, place }: Setting, row: Row, { job, flight }: Write): boolean {
  if (flight === null) return true
  const isOutcome = job.items.some((status, item) => hasEnded(status) && status !== row.job.items[item])
  return isOutcome ? protocol.isOutcomeFlushed : place !== 'same log' && protocol.isAnnouncementFlushed
}

const hasEnded = (status: StepStatus) => status !== 'pending' && status !== 'running'

/** Gives out a job that waits or that has lost its worker. Need not be on the disk before it is answered. */
function executeClaim(state: State, { worker, claim }: Claim): State | undefined {
  const row = rowOf(state)
  if (row.job.isFinal || row.worker !== null) return undefined
  const job = row.job.status === 'pending' ? row.job.after('claim') : row.job
  return changeRow(state, { job, worker, claim, writeId: null }, false)
}

/** Releases a claim, if it is still the one that was read. */
function executeRelease(state: State, message: Release): State {
  const { job, claim, revision } = rowOf(state)
  const isMeant = job.status === 'running' && claim === message.claim && revision === message.revision
  return isMeant ? orphan(state) : state
}

/** Takes the job from its worker. Its flight stays, for the next worker to settle. */
export function orphan(state: State): State {
  return changeRow(state, { worker: null, claim: null, writeId: null }, true)
}

export function changeRow(state: State, change: Partial<Row>, isFlushed: boolean): State {
  const row = rowOf(state)
  return append(state, 'control', { row: { ...row, ...change, revision: row.revision + 1 } }, isFlushed)
}

/** Writes a mark on the item's host, in the log that will have its commit, and waits for the disk. */
function executeMark({ protocol }: Setting, state: State, { item, flight, settled }: Mark): Executed {
  if (protocol.isMarkBoundToBackend && !backendOf(state, flight)) return { state, answer: 'gone' }
  const there = host(state).log.marks[item]!
  const isKnown = there === null || isSame(there, settled) || isSame(there, flight)
  if (protocol.isMarkCompared && !isKnown) return { state, answer: { other: there } }
  return { state: putMark(state, item, flight), answer: 'marked' }
}

export function putMark(state: State, item: number, flight: Flight): State {
  return append(state, 'host', { marks: put(host(state).log.marks, item, flight) }, true)
}

/** `unconfirmed`: committed, but the synchronous replica does not have it yet. Ask again later. */
export type Outcome = 'committed' | 'aborted' | 'unknown' | 'unconfirmed'

/** Ends the backend of a flight and asks for the outcome. Empty: its xid is still in use, wait. */
export function settle(
  { protocol, place }: Setting,
  state: State,
  item: number,
  flight: Flight,
): Readonly<{ state: State; outcome: Outcome }> | undefined {
  const ended = endBackend(state, flight)
  const { log, replica } = host(ended)
  const isMarked = isSame(log.marks[item]!, flight)
  if (place !== 'same log' && protocol.isMarkAsked && !isMarked) {
    return { state: ended, outcome: 'aborted' }
  }
  if (ended.backends.some((other) => other.flight.xid === flight.xid)) return undefined
  // The xid was not given out yet: the server was set back.
  if (flight.xid >= log.nextXid) return { state: ended, outcome: 'unknown' }
  if (!log.committedXids.includes(flight.xid)) return { state: ended, outcome: 'aborted' }
  const mustWait = protocol.isReplicaAwaited && place === 'synchronous host' && replica !== null
  return { state: ended, outcome: mustWait ? 'unconfirmed' : 'committed' }
}
