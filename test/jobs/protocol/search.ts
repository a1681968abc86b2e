import type { Act } from './acts.ts'
import { backendActs } from './backend.ts'
import { cancellerActs } from './canceller.ts'
import { faultActs } from './faults.ts'
import { findBroken, type Invariant } from './invariants.ts'
import type { Setting } from './protocol.ts'
import { SeenStates } from './seen-states.ts'
import { initialState, type State } from './state.ts'
import { workerActs } from './worker.ts'

export type Found = Readonly<{
  /** How many different states were looked at. */
  states: number
  /** The first that is broken, and the shortest way to it. */
  violation: Readonly<{ invariant: Invariant; steps: readonly string[] }> | undefined
}>

/** Looks at every state that can be reached, the nearest first, until an invariant is broken or there are no more. */
export function search(setting: Setting): Found {
  const seen = new SeenStates()
  const first = initialState(setting)
  seen.add(first, 0, 0)
  let frontier: readonly (readonly [state: State, number: number])[] = [[first, 0]]
  while (frontier.length > 0) {
    const next: (readonly [State, number])[] = []
    for (const [before, number] of frontier) {
      const acts = actsOf(setting, before)
      for (let choice = 0; choice < acts.length; choice++) {
        const after = acts[choice]![1]
        const place = seen.add(after, number, choice)
        if (place === undefined) continue
        const invariant = findBroken(after, before)
        if (invariant) {
          return { states: seen.size, violation: { invariant, steps: retell(setting, seen.wayTo(place)) } }
        }
        next.push([after, place])
      }
    }
    frontier = next
  }
  return { states: seen.size, violation: undefined }
}

function actsOf(setting: Setting, state: State): readonly Act[] {
  return [
    ...state.workers.flatMap((_, index) => workerActs(setting, state, index)),
    ...backendActs(setting, state),
    ...cancellerActs(setting, state),
    ...faultActs(setting, state),
  ]
}

/** Plays the choices again, for their names. */
function retell(setting: Setting, choices: readonly number[]): readonly string[] {
  let state = initialState(setting)
  return choices.map((choice) => {
    const [name, after] = actsOf(setting, state)[choice]!
    state = after
    return name
  })
}
