import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Invariant } from './invariants.ts'
import { type Bounds, type Chance, chances, type Place, type Protocol } from './protocol.ts'
import { type Found, search } from './search.ts'

/** A protocol, what happens to it, and what it breaks, if anything. */
export type Case = Readonly<{
  name: string
  change?: Partial<Protocol>
  place: Place
  given: readonly Chance[]
  breaks?: Invariant
}>

export const appliedWrongly = '2: a done item was applied exactly once'
export const runsOn = '4: nothing of a final job runs'

/** Searches a job of two items in the hands of two workers, with some of what may happen, each once. */
export function look(
  t: TestContext,
  protocol: Protocol,
  place: Place,
  given: readonly Chance[],
  together = given.length,
): Found {
  const each = Object.fromEntries(chances.map((chance) => [chance, given.includes(chance) ? 1 : 0]))
  const found = search({ protocol, place, items: 2, bounds: { ...each, together } as Bounds })
  t.diagnostic(`${found.states} states`)
  return found
}

export function holds(found: Found): void {
  assert.equal(found.violation, undefined, story(found))
}

export function story({ violation }: Found): string {
  if (!violation) return 'no promise is broken'
  const { invariant, steps } = violation
  return [`broken: ${invariant}`, ...steps.map((step, index) => `${index + 1}. ${step}`)].join('\n')
}
