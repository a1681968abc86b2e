import { type Numbered, SeenStates } from './seen-states.ts'

/** What happens, in words, and the state afterwards. */
export type Act<State> = readonly [name: string, state: State]

/** What can be searched: the first state, what may happen next in any state, and what must hold. */
export type Model<State extends Numbered, Invariant extends string> = Readonly<{
  first: State
  actsOf: (state: State) => readonly Act<State>[]
  /** The invariant that is broken by a state, or by the step that led to it. */
  findBroken: (after: State, before: State) => Invariant | undefined
  /** The invariant that is broken by a state in which nothing more can happen. */
  findBrokenAtRest: (state: State) => Invariant | undefined
}>

export type Found<Invariant extends string> = Readonly<{
  /** How many different states were checked. */
  states: number
  /** The first violation, and the shortest way to it. */
  violation: Readonly<{ invariant: Invariant; steps: readonly string[] }> | undefined
}>

/** Checks every reachable state, the nearest first, until an invariant is broken or none is left. */
export function search<State extends Numbered, Invariant extends string>(
  model: Model<State, Invariant>,
): Found<Invariant> {
  const { first, actsOf, findBroken, findBrokenAtRest } = model
  const seen = new SeenStates()
  const broken = (invariant: Invariant, place: number): Found<Invariant> => {
    return { states: seen.size, violation: { invariant, steps: retell(model, seen.wayTo(place)) } }
  }
  seen.add(first, 0, 0)
  let frontier: readonly (readonly [state: State, place: number])[] = [[first, 0]]
  while (frontier.length > 0) {
    const next: (readonly [State, number])[] = []
    for (const [before, origin] of frontier) {
      const acts = actsOf(before)
      const atRest = acts.length === 0 ? findBrokenAtRest(before) : undefined
      if (atRest) return broken(atRest, origin)
      for (let choice = 0; choice < acts.length; choice++) {
        const after = acts[choice]![1]
        const place = seen.add(after, origin, choice)
        if (place === undefined) continue
        const invariant = findBroken(after, before)
        if (invariant) return broken(invariant, place)
        next.push([after, place])
      }
    }
    frontier = next
  }
  return { states: seen.size, violation: undefined }
}

/** Plays the choices again, for their names. */
function retell<State extends Numbered>(
  { first, actsOf }: Pick<Model<State, string>, 'first' | 'actsOf'>,
  choices: readonly number[],
): readonly string[] {
  let state = first
  return choices.map((choice) => {
    const [name, after] = actsOf(state)[choice]!
    state = after
    return name
  })
}

export function story({ violation }: Found<string>): string {
  if (!violation) return 'no promise is broken'
  const { invariant, steps } = violation
  return [`broken: ${invariant}`, ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n')
}
