import type { TestContext } from 'node:test'
import { boundsOf } from '../../support/search/bounds.ts'
import { type Found, search } from '../../support/search/search.ts'
import { clientActs } from './clients.ts'
import { databaseActs } from './databases.ts'
import { faultActs } from './faults.ts'
import { findBroken, findBrokenAtRest, type Invariant } from './invariants.ts'
import { type Chance, chances, type Protocol, type Setting } from './protocol.ts'
import { repairActs } from './repair.ts'
import { type Act, initialState, type State } from './state.ts'

/** Searches what some clients do at the same time, with the given faults, each at most once. */
export function look(
  t: TestContext,
  protocol: Protocol,
  clients: Setting['clients'],
  given: readonly Chance[],
  together = given.length,
): Found<Invariant> {
  const first = initialState({ protocol, clients, bounds: boundsOf(chances, given, together) })
  const actsOf = (state: State) => actsIn(protocol, state)
  const found = search<State, Invariant>({ first, actsOf, findBroken, findBrokenAtRest })
  t.diagnostic(`${found.states} states`)
  return found
}

function actsIn(protocol: Protocol, state: State): readonly Act[] {
  return [
    ...state.clients.flatMap((_, index) => clientActs(protocol, state, index)),
    ...databaseActs(protocol, state),
    ...repairActs(protocol, state),
    ...faultActs(protocol, state),
  ]
}
