import { spent } from '../../support/search/bounds.ts'
import type { Act as ActOn } from '../../support/search/search.ts'
import type { Chance } from './protocol.ts'
import type { State } from './state.ts'

export type Act = ActOn<State>

/** Whether the bounds of the search still allow this chance. */
export function may({ left }: State, chance: Chance): boolean {
  return left[chance] > 0
}

/** Uses up one chance. Details that no longer matter are dropped, so that more states are equal. */
export function spend(state: State, chance: Chance): State {
  const left = spent(state.left, chance)
  return left.serverCrash > 0 ? { ...state, left } : { ...state, left, servers: withoutTails(state) }
}

function withoutTails({ servers }: State): State['servers'] {
  return servers.map((server) => (server.tail.length > 0 ? { ...server, tail: [] } : server))
}
