import assert from 'node:assert/strict'
import { test } from 'node:test'
import { story } from '../../support/search/search.ts'
import type { Invariant } from './invariants.ts'
import { look } from './look.ts'
import { type Chance, type Protocol, type Setting, wholeProtocol } from './protocol.ts'

const withoutRole = 'a recorded key has its role with its grants'

/** Each guard, and what breaks without it. */
const guards: readonly Readonly<{
  name: string
  guard: keyof Protocol
  clients: Setting['clients']
  given: readonly Chance[]
  breaks: Invariant
}>[] = [
  {
    name: 'the lock of the user while a key is made',
    guard: 'isLockHeld',
    clients: ['create'],
    given: [],
    breaks: withoutRole,
  },
  {
    name: 'committing the role before the record',
    guard: 'isRoleAwaited',
    clients: ['create'],
    given: [],
    breaks: withoutRole,
  },
  {
    name: 'waiting for the lock before a role is undone',
    guard: 'isLockAwaited',
    clients: ['create'],
    given: ['cutConnection'],
    breaks: withoutRole,
  },
  {
    name: 'asking for the key before its role is undone',
    guard: 'isKeyAsked',
    clients: ['create'],
    given: ['cutConnection'],
    breaks: withoutRole,
  },
  {
    name: 'removing the record before the role',
    guard: 'isRecordRemovedFirst',
    clients: ['delete'],
    given: [],
    breaks: withoutRole,
  },
  {
    name: 'knowing that the record is gone before the role is removed',
    guard: 'isRemovalKnown',
    clients: ['delete'],
    given: ['cutConnection'],
    breaks: withoutRole,
  },
  {
    name: 'trying the lock before repair removes a role',
    guard: 'isLockTried',
    clients: ['create'],
    given: [],
    breaks: withoutRole,
  },
  {
    name: 'asking for the key again before repair removes a role',
    guard: 'isKeyAskedAgain',
    clients: ['create'],
    given: [],
    breaks: withoutRole,
  },
  {
    name: 'asking for the role again before repair makes another',
    guard: 'isRoleAskedAgain',
    clients: ['create'],
    given: [],
    breaks: withoutRole,
  },
  {
    name: 'repair, after a process was lost,',
    guard: 'isRepaired',
    clients: ['create'],
    given: ['processCrash'],
    breaks: 'in the end each key has a role, and there is no other',
  },
  {
    name: 'repair, after a role was committed late,',
    guard: 'isRepaired',
    clients: ['create'],
    given: ['cutConnection'],
    breaks: 'in the end each key has a role, and there is no other',
  },
]
for (const { name, guard, clients, given, breaks } of guards) {
  test(`without ${name} a promise about keys breaks`, (t) => {
    const found = look(t, { ...wholeProtocol, [guard]: false }, clients, given)
    assert.equal(found.violation?.invariant, breaks, story(found))
  })
}

test('every guard of the keys is left out once', () => {
  const left = guards.map(({ guard }) => guard)
  for (const guard of Object.keys(wholeProtocol)) assert.ok(left.includes(guard as keyof Protocol), guard)
})
