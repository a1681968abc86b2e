import { type Chance, chances } from './protocol.ts'
import type { State } from './state.ts'

/** What happens, in words, and what is the case afterwards. */
export type Act = readonly [name: string, state: State]

/** Whether the bounds of the search still allow it. */
export function may({ left }: State, chance: Chance): boolean {
  return left[chance] > 0
}

/** Uses up one chance. What can no longer matter is forgotten, so that more states are equal. */
export function spend(state: State, chance: Chance): State {
  const left = { ...state.left, [chance]: state.left[chance] - 1, together: state.left.together - 1 }
  if (left.together === 0) for (const each of chances) left[each] = 0
  return left.serverCrash > 0 ? { ...state, left } : { ...state, left, servers: withoutTails(state) }
}

function withoutTails({ servers }: State): State['servers'] {
  return servers.map((server) => (server.tail.length > 0 ? { ...server, tail: [] } : server))
}
