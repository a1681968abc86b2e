import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { search, story } from '../../support/search/search.ts'
import {
  actsOf,
  allGuards,
  chances,
  findBroken,
  findBrokenAtRest,
  type Guards,
  type Invariant,
  initialState,
  type State,
} from './model.ts'

function look(t: TestContext, guards: Guards) {
  const found = search<State, Invariant>({
    first: initialState(chances),
    actsOf: (state) => actsOf(guards, state),
    findBroken,
    findBrokenAtRest,
  })
  t.diagnostic(`${found.states} states`)
  return found
}

test('every final state is delivered or listed, whichever sender is killed, overtaken or refused', (t) => {
  const found = look(t, allGuards)
  assert.equal(found.violation, undefined, story(found))
  assert.ok(found.states > 1_000)
})

const needed: readonly (readonly [string, Partial<Guards>, Invariant])[] = [
  ['one transaction', { isOneTransaction: false }, 'every end is delivered or listed'],
  ['the lease', { hasLease: false }, 'every end is delivered or listed'],
  ['the fence', { isFenced: false }, 'every attempt sends the same bytes'],
  ['the body that is kept', { keepsBody: false }, 'every attempt sends the same bytes'],
  ['waiting for the answer', { waitsForAnswer: false }, 'what is delivered was taken'],
]
for (const [name, change, broken] of needed) {
  test(`without ${name} a promise of webhooks breaks`, (t) => {
    const found = look(t, { ...allGuards, ...change })
    assert.equal(found.violation?.invariant, broken, story(found))
  })
}
