import type { Act } from '../../support/search/search.ts'

/**
 * A schedule run by two workers, on a clock that may jump and a control database that may lose the end of its log. Due
 * times are 1, 2, 3, ... Each guard can be switched off, which shows what it is for.
 */
export type Guards = Readonly<{
  /** A worker skips a schedule whose row is locked. */
  isRowLocked: boolean
  /** The job, the record of the due time and the next due time are one transaction. */
  isOneTransaction: boolean
  /** The next due time follows the last one, not the clock. */
  followsLast: boolean
}>

export const allGuards: Guards = { isRowLocked: true, isOneTransaction: true, followsLast: true }

export const chances = ['crash', 'forward', 'back', 'failOver'] as const
export type Chance = (typeof chances)[number]

/** The log of the control database: jobs and records by due time, and the first due time not handled. */
type Log = Readonly<{ jobs: readonly number[]; records: readonly number[]; next: number }>

/** What a worker has read and how far it is: it has created the jobs, but not yet the records. */
type Work = Readonly<{ due: readonly number[]; next: number; hasMadeJobs: boolean }>

export type State = Readonly<{
  ids: number
  now: number
  log: Log
  /** Where the replica has stopped following; null: it follows. */
  replica: Log | null
  workers: readonly (Work | null)[]
  left: Readonly<Record<Chance, number>>
}>

const lastTime = 4

export function initialState(given: readonly Chance[]): State {
  const left = Object.fromEntries(chances.map((chance) => [chance, given.includes(chance) ? 1 : 0]))
  return {
    ids: 0,
    now: 1,
    log: { jobs: [], records: [], next: 1 },
    replica: null,
    workers: [null, null],
    left: left as State['left'],
  }
}

export function actsOf(guards: Guards, state: State): readonly Act<State>[] {
  return [
    ...state.workers.flatMap((work, index) =>
      work ? goOn(guards, state, index, work) : look(guards, state, index),
    ),
    ...faults(state),
    ...(state.now < lastTime ? [['a minute passes', { ...state, now: state.now + 1 }] as Act<State>] : []),
  ]
}

/** Locks a schedule that is due and handles its due times. */
function look({ isRowLocked, followsLast }: Guards, state: State, index: number): readonly Act<State>[] {
  const { now, log, workers } = state
  const isLocked = isRowLocked && workers.some((other) => other !== null)
  if (log.next > now || isLocked) return []
  const due = Array.from({ length: now - log.next + 1 }, (_, place) => log.next + place)
  const work = followsLast
    ? { due, next: now + 1, hasMadeJobs: false }
    : { due: [now], next: now + 1, hasMadeJobs: false }
  return [[`worker ${index} finds ${due.length} due times`, putWork(state, index, work)]]
}

function goOn(guards: Guards, state: State, index: number, work: Work): readonly Act<State>[] {
  const { log } = state
  const jobs = [...log.jobs, ...work.due]
  const records = [...log.records, ...work.due]
  if (guards.isOneTransaction) {
    const committed = { ...state, log: { jobs, records, next: work.next } }
    return [[`worker ${index} commits`, putWork(committed, index, null)]]
  }
  if (!work.hasMadeJobs) {
    const made = { ...state, log: { ...log, jobs } }
    return [[`worker ${index} makes the jobs`, putWork(made, index, { ...work, hasMadeJobs: true })]]
  }
  const recorded = { ...state, log: { ...log, records, next: work.next } }
  return [[`worker ${index} records the due times`, putWork(recorded, index, null)]]
}

function faults(state: State): readonly Act<State>[] {
  const { left, now, log, replica, workers } = state
  const acts: Act<State>[] = []
  const spend = (chance: Chance) => ({ ...state, left: { ...left, [chance]: left[chance] - 1 } })
  if (left.crash > 0)
    for (const [index, work] of workers.entries())
      if (work) acts.push([`worker ${index} is killed`, putWork(spend('crash'), index, null)])
  if (left.forward > 0 && now < lastTime)
    acts.push(['the clock jumps ahead', { ...spend('forward'), now: lastTime }])
  if (left.back > 0 && now > 1) acts.push(['the clock is set back', { ...spend('back'), now: 1 }])
  if (left.failOver > 0) acts.push(['the replica falls behind', { ...spend('failOver'), replica: log }])
  // All sessions end with the old primary, and so do the workers' transactions.
  if (replica)
    acts.push([
      'the control database fails over',
      { ...state, log: replica, replica: null, workers: [null, null] },
    ])
  return acts
}

function putWork(state: State, index: number, work: Work | null): State {
  return { ...state, workers: state.workers.map((each, place) => (place === index ? work : each)) }
}

export type Invariant =
  | 'no due time has two jobs'
  | 'no due time is lost without a record'
  | 'every job has a record'

export function findBroken({ log, workers }: State): Invariant | undefined {
  if (new Set(log.jobs).size < log.jobs.length) return 'no due time has two jobs'
  for (let due = 1; due < log.next; due++)
    if (!log.records.includes(due)) return 'no due time is lost without a record'
  const isUnderWay = workers.some((work) => work?.hasMadeJobs)
  if (!isUnderWay && log.jobs.some((due) => !log.records.includes(due))) return 'every job has a record'
  return undefined
}
