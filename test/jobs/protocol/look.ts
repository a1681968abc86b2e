import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { boundsOf } from '../../support/search/bounds.ts'
import { type Found as FoundOf, search, story } from '../../support/search/search.ts'
import type { Act } from './acts.ts'
import { backendActs } from './backend.ts'
import { cancellerActs } from './canceller.ts'
import { faultActs } from './faults.ts'
import { findBroken, findBrokenAtRest, type Invariant } from './invariants.ts'
import { type Chance, chances, type Place, type Protocol, type Setting } from './protocol.ts'
import { initialState, type State } from './state.ts'
import { workerActs } from './worker.ts'

export type Found = FoundOf<Invariant>

/** A protocol, the faults it meets, and the promise it breaks, if any. */
export type Case = Readonly<{
  name: string
  change: Partial<Protocol>
  place: Place
  given: readonly Chance[]
  breaks?: Invariant
}>

/** Searches a job of two items and two workers, with the given faults, each at most once. */
export function look(
  t: TestContext,
  protocol: Protocol,
  place: Place,
  given: readonly Chance[],
  together = given.length,
): Found {
  const setting = { protocol, place, items: 2, bounds: boundsOf(chances, given, together) }
  const first = initialState(setting)
  const actsOf = (state: State) => actsIn(setting, state)
  const found = search<State, Invariant>({ first, actsOf, findBroken, findBrokenAtRest })
  t.diagnostic(`${found.states} states`)
  return found
}

function actsIn(setting: Setting, state: State): readonly Act[] {
  return [
    ...state.workers.flatMap((_, index) => workerActs(setting, state, index)),
    ...backendActs(setting, state),
    ...cancellerActs(setting, state),
    ...faultActs(setting, state),
  ]
}

export function holds(found: Found): void {
  assert.equal(found.violation, undefined, story(found))
}
