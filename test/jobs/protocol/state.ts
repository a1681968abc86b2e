import type { Bounds } from '../../support/search/bounds.ts'
import { newJob, type Progress } from './progress.ts'
import type { Chance, Setting } from './protocol.ts'

/** A unique id that is never used again. Ids are negative, so that the search can tell them from other numbers. */
export type Id = number

/** A statement about to be sent. The id stands for the pid and start time of the backend; an xid can be used twice. */
export type Flight = Readonly<{ id: Id; xid: number }>

/** The job in the control database. */
export type Row = Readonly<{
  job: Progress
  worker: Id | null
  claim: Id | null
  revision: number
  writeId: Id | null
  flight: Flight | null
}>

/** The state that a server's log describes: all of it survives, or its end is lost. */
export type Log = Readonly<{
  /** Only in the control database. */
  row: Row | null
  nextXid: number
  committedXids: readonly number[]
  /** How often each item was applied. */
  applied: readonly number[]
  /** On another host: the latest flight announced for each item. */
  marks: readonly (Flight | null)[]
}>

export type Server = Readonly<{
  /** Counts crashes and fail-overs. */
  epoch: number
  log: Log
  /** The states before each change that is not on the disk: a crash may bring back any of them. */
  tail: readonly Log[]
  /** The state at which the replica stopped following, perhaps for a while; null if it follows. */
  replica: Log | null
}>

/**
 * A backend in its own transaction for one item; it commits by itself once the statement was sent. `isWaiting`: its
 * commit is in the log and waits for the synchronous replica. PostgreSQL calls it committed only after that wait.
 */
export type Backend = Readonly<{ flight: Flight; item: number; isSent: boolean; isWaiting: boolean }>

/** A change of the row by the worker that has the job, or thinks so. */
export type Write = Readonly<{
  kind: 'write'
  claim: Id
  revision: number
  id: Id
  epoch: number
  job: Progress
  flight: Flight | null
  isReleased: boolean
}>
export type Claim = Readonly<{ kind: 'claim'; worker: Id; claim: Id }>
export type Release = Readonly<{ kind: 'release'; claim: Id; revision: number }>
export type Mark = Readonly<{ kind: 'mark'; item: number; flight: Flight; settled: Flight | null }>
export type Message = Write | Claim | Release | Mark

/**
 * settle -> ready -> writing -> announced -> sent -> ready ... writing, until the job has ended. On another host,
 * before it is announced: marking -> contested -> rivalling -> marking. A lost connection leads to settle, a crash of
 * control to reload.
 */
export type Stage =
  | 'settle'
  | 'ready'
  | 'writing'
  | 'marking'
  | 'contested'
  | 'rivalling'
  | 'announced'
  | 'sent'
  | 'reload'

/** A job that a worker runs, as the worker knows it. */
export type Run = Readonly<{
  stage: Stage
  claim: Id
  revision: number
  /** The epoch of the control database in which this was read. */
  epoch: number
  job: Progress
  /** The flight to settle, or the one that the worker has begun. */
  flight: Flight | null
  /** The last flight of this item that was settled as not applied. */
  settled: Flight | null
  /** The flight whose mark was found. */
  rival: Flight | null
  /** The item failed and is retried once its flight is settled. */
  isRetried: boolean
  /** A message that was sent and is repeated until it is answered. */
  message: Write | Mark | null
}>

/** A crash gives the worker a new id. The answer to its claim may still arrive. */
export type Worker = Readonly<{ id: Id; hasAsked: boolean; answer: Run | null; run: Run | null }>

/** Holds the lock of the row from its first read to its last write. */
export type Canceller = Readonly<{
  job: Progress
  flight: Flight | null
  settled: Flight | null
  mustMark: boolean
}>

export type State = Readonly<{
  /** The control database, and the host of the job if it is another one. */
  servers: readonly Server[]
  backends: readonly Backend[]
  workers: readonly Worker[]
  canceller: Canceller | null
  /** A canceller released the row while it waits for the replica, and will come back. */
  isCancelPending: boolean
  /** Copies that may still arrive after their sender gave up. A copy that never arrives counts as lost. */
  late: readonly Message[]
  /** Done items that a fail-over to an asynchronous replica lost: the known price of it. */
  lost: readonly boolean[]
  left: Bounds<Chance>
  /** How many ids were created. */
  ids: number
}>

export function initialState({ place, items, bounds }: Setting): State {
  const each = <Value>(value: Value) => Array.from({ length: items }, () => value)
  const empty: Log = { row: null, nextXid: 1, committedXids: [], applied: each(0), marks: each(null) }
  const row: Row = {
    job: newJob(items),
    worker: null,
    claim: null,
    revision: 0,
    writeId: null,
    flight: null,
  }
  const serverOf = (log: Log): Server => ({ epoch: 0, log, tail: [], replica: null })
  const control = serverOf({ ...empty, row })
  return {
    servers: place === 'same log' ? [control] : [control, serverOf(empty)],
    backends: [],
    workers: [-1, -2].map((id) => ({ id, hasAsked: false, answer: null, run: null })),
    canceller: null,
    isCancelPending: false,
    late: [],
    lost: each(false),
    left: bounds,
    ids: 2,
  }
}

export const control = ({ servers }: State): Server => servers[0]!
export const host = ({ servers }: State): Server => servers.at(-1)!
export const rowOf = (state: State): Row => control(state).log.row!
export const isSame = (one: Flight | null, other: Flight | null): boolean => one?.id === other?.id

export function backendOf({ backends }: State, flight: Flight | null): Backend | undefined {
  return backends.find((backend) => isSame(backend.flight, flight))
}

/** Ends backends and the connections of the workers that use them. */
export function endBackends(state: State, isMeant: (backend: Backend) => boolean): State {
  const ended = state.backends.filter(isMeant)
  if (ended.length === 0) return state
  const isCut = ({ run }: Worker) =>
    (run?.stage === 'announced' || run?.stage === 'sent') &&
    ended.some(({ flight }) => isSame(flight, run.flight))
  return {
    ...state,
    backends: state.backends.filter((backend) => !ended.includes(backend)),
    workers: state.workers.map((worker) =>
      isCut(worker) ? { ...worker, run: { ...worker.run!, stage: 'settle' } } : worker,
    ),
  }
}

export function endBackend(state: State, flight: Flight | null): State {
  return endBackends(state, (backend) => isSame(backend.flight, flight))
}

export function newId(state: State): readonly [State, Id] {
  const ids = state.ids + 1
  return [{ ...state, ids }, -ids]
}

export function putWorker(state: State, index: number, change: Partial<Worker>): State {
  return { ...state, workers: put(state.workers, index, { ...state.workers[index]!, ...change }) }
}

export function putRun(state: State, index: number, change: Partial<Run>): State {
  return putWorker(state, index, { run: { ...state.workers[index]!.run!, ...change } })
}

/** Appends to the log of a server, with or without waiting for the disk. */
export function append(
  state: State,
  to: 'control' | 'host',
  change: Partial<Log>,
  isFlushed: boolean,
): State {
  const place = to === 'control' ? 0 : state.servers.length - 1
  const { log, tail } = state.servers[place]!
  const mayCrash = state.left.serverCrash > 0
  return putServer(state, place, {
    log: { ...log, ...change },
    tail: isFlushed || !mayCrash ? [] : [...tail, log],
  })
}

export function putServer(state: State, place: number, change: Partial<Server>): State {
  return { ...state, servers: put(state.servers, place, { ...state.servers[place]!, ...change }) }
}

export function put<Value>(values: readonly Value[], index: number, value: Value): readonly Value[] {
  return values.map((each, place) => (place === index ? value : each))
}
