import type { Bounds } from '../../support/search/bounds.ts'
import { newJob, type Progress } from './progress.ts'
import type { Chance, Setting } from './protocol.ts'

/** Something that is made up and never again given out. Ids are negative, by which the search knows them. */
export type Id = number

/** A statement about to be sent. The id stands for pid and start of the backend; an xid can be given out twice. */
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

/** What the log of a server amounts to: all of it survives, or vanishes, from its end. */
export type Log = Readonly<{
  /** In the control database alone. */
  row: Row | null
  nextXid: number
  committedXids: readonly number[]
  /** How often each item was applied. */
  applied: readonly number[]
  /** For each item the flight that was last about to be sent; on another host than the control database. */
  marks: readonly (Flight | null)[]
}>

export type Server = Readonly<{
  /** From one crash or fail-over to the next. */
  epoch: number
  log: Log
  /** What it was before each change that is not on the disk: a crash may bring back any of these. */
  tail: readonly Log[]
  /** Where the replica has stopped to follow, perhaps for a while; null: it has not. */
  replica: Log | null
}>

/**
 * A backend in a transaction of its own for one item; it commits by itself once the statement has been sent. `isWaiting`: its
 * commit is in the log, and waits for the synchronous replica. PostgreSQL calls it committed once nothing waits any more.
 */
export type Backend = Readonly<{ flight: Flight; item: number; isSent: boolean; isWaiting: boolean }>

/** A change of the row by the worker that has it; or by one that thinks so. */
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
 * settle -> ready -> writing -> announced -> sent -> ready ... writing, and the job has ended. On another host, before it is
 * announced: marking -> contested -> rivalling -> marking. A lost connection leads to settle, a crash of control to reload.
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

/** A job in the hands of a worker, as the worker knows it. */
export type Run = Readonly<{
  stage: Stage
  claim: Id
  revision: number
  /** The epoch of the control database in which all this was learnt. */
  epoch: number
  job: Progress
  /** What is to be settled, or what the worker itself has begun. */
  flight: Flight | null
  /** The last one of this item that was settled and had not been applied. */
  settled: Flight | null
  /** Of which a mark was found. */
  rival: Flight | null
  /** The item failed, and is tried again once its flight is settled. */
  isRetried: boolean
  /** Sent, and repeated until it is answered. */
  message: Write | Mark | null
}>

/** A crash gives it a new id. An answer to its claim may be on its way. */
export type Worker = Readonly<{ id: Id; hasAsked: boolean; answer: Run | null; run: Run | null }>

/** Holds the lock of the row from its first look to its last write. */
export type Canceller = Readonly<{
  job: Progress
  flight: Flight | null
  settled: Flight | null
  mustMark: boolean
}>

export type State = Readonly<{
  /** The control database, and the host of the job if that is another one. */
  servers: readonly Server[]
  backends: readonly Backend[]
  workers: readonly Worker[]
  canceller: Canceller | null
  /** A canceller has let go of the row while it waits for the replica, and will come again. */
  isCancelPending: boolean
  /** Copies that may still arrive, though nobody waits for their answer. One that never does was lost. */
  late: readonly Message[]
  /** Items known to be done that a fail-over to an asynchronous replica has lost: the price of it. */
  lost: readonly boolean[]
  left: Bounds<Chance>
  /** How many ids were made up. */
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

/** Ends backends, and with them the connections of the workers that use them. */
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

/** Appends to the log of a server, and waits for its disk or does not. */
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
