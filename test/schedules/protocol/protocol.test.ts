import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { search, story } from '../../support/search/search.ts'
import {
  actsOf,
  allGuards,
  type Chance,
  chances,
  findBroken,
  type Guards,
  type Invariant,
  initialState,
  type State,
} from './model.ts'

function look(t: TestContext, guards: Guards, given: readonly Chance[] = chances) {
  const found = search<State, Invariant>({
    first: initialState(given),
    actsOf: (state) => actsOf(guards, state),
    findBroken,
    findBrokenAtRest: () => undefined,
  })
  t.diagnostic(`${found.states} states`)
  return found
}

test('a due time is never doubled and never lost without a record, whatever is killed and wherever the clock jumps', (t) => {
  const found = look(t, allGuards)
  assert.equal(found.violation, undefined, story(found))
  assert.ok(found.states > 100)
})

const needed: readonly (readonly [string, Partial<Guards>, Invariant])[] = [
  ['the lock of the row', { isRowLocked: false }, 'no due time has two jobs'],
  ['one transaction', { isOneTransaction: false }, 'every job has a record'],
  ['counting from the last due time', { followsLast: false }, 'no due time is lost without a record'],
]
for (const [name, change, broken] of needed) {
  test(`without ${name} a promise of schedules breaks`, (t) => {
    const found = look(t, { ...allGuards, ...change })
    assert.equal(found.violation?.invariant, broken, story(found))
  })
}
