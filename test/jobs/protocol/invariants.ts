import { control, host, rowOf, type State } from './state.ts'

/** The promises of docs/guarantees.md by number, and one that costs only time when broken. */
export type Invariant = keyof typeof invariants | typeof reachesItsEnd

/**
 * Each checks one state, or the step that led to it. A fail-over of the control database takes back answers that were
 * given: only then may a final state change.
 */
export const invariants = {
  '2: a done item was applied exactly once': isAppliedWrongly,
  '2: a done item stays done': isTakenBack,
  '3: an item that is not done was not applied': isAppliedUnsaid,
  '4: nothing of a final job runs': isRunningAfterTheEnd,
  '5: a final state never changes': isChangedAfterTheEnd,
  'a worker keeps what is its own': isDroppedInVain,
} as const satisfies Record<string, (after: State, before: State) => boolean>

export function findBroken(after: State, before: State): Invariant | undefined {
  const names = Object.keys(invariants) as (keyof typeof invariants)[]
  return names.find((name) => invariants[name](after, before))
}

const reachesItsEnd = '1: a job reaches a final state'

/** A job that nothing can continue. (The search does not see whether a job continues for ever.) */
export function findBrokenAtRest(state: State): Invariant | undefined {
  return rowOf(state).job.isFinal ? undefined : reachesItsEnd
}

/** An item applied twice; or a done item not applied, unless its host lost it after it was known to be done. */
function isAppliedWrongly(state: State): boolean {
  const { items } = rowOf(state).job
  return host(state).log.applied.some(
    (times, item) => times > 1 || (times === 0 && items[item] === 'done' && !state.lost[item]),
  )
}

function isAppliedUnsaid(state: State): boolean {
  const { isFinal, items } = rowOf(state).job
  const isSaid = (item: number) => items[item] === 'done' || items[item] === 'unknown'
  return isFinal && host(state).log.applied.some((times, item) => times > 0 && !isSaid(item))
}

function isRunningAfterTheEnd(state: State): boolean {
  return rowOf(state).job.isFinal && state.backends.some(({ isSent }) => isSent)
}

function isTakenBack(after: State, before: State): boolean {
  const { items } = rowOf(after).job
  const isUndone = rowOf(before).job.items.some((was, item) => was === 'done' && items[item] !== 'done')
  return isUndone && !hasFailedOver(after, before)
}

function isChangedAfterTheEnd(after: State, before: State): boolean {
  return rowOf(before).job.isFinal && rowOf(after) !== rowOf(before) && !hasFailedOver(after, before)
}

function hasFailedOver(after: State, before: State): boolean {
  return control(after).epoch > control(before).epoch && control(before).replica !== null
}

/** After a fail-over of the control database a worker may be ahead of the row: it stops and releases the job. */
function isDroppedInVain(after: State, before: State): boolean {
  const { job, claim } = rowOf(after)
  if (job.status !== 'running' || control(after).epoch > 0) return false
  return before.workers.some(({ id, run }, index) => {
    const { id: idNow, run: runNow } = after.workers[index]!
    return run !== null && runNow === null && id === idNow && run.claim === claim
  })
}
