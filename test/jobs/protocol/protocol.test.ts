import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appliedWrongly, type Case, holds, look, story } from './look.ts'
import { type Chance, chances, newProtocol, oldProtocol, type Place } from './protocol.ts'

// Three are searched in minutes, and need --max-old-space-size=8000.
const events = Number(process.env.CARTAGE_TEST_PROTOCOL_EVENTS ?? 2)

for (const place of ['same log', 'another host'] as const) {
  test(`any ${events} events break no promise, ${place}`, (t) => {
    holds(look(t, newProtocol, place, chances, events))
  })
}

/** Deeper, where it is most dangerous. */
const dangers: readonly (readonly [Place, readonly Chance[]])[] = [
  ['same log', ['lateMessage', 'processCrash', 'cancel']],
  ['another host', ['lateMessage', 'processCrash', 'cancel']],
  ['another host', ['failure', 'suspicion', 'failOver']],
]
for (const [place, given] of dangers) {
  test(`${given.join(', ')} together break no promise, ${place}`, (t) => {
    holds(look(t, newProtocol, place, given))
  })
}

/** What the counter let happen. */
const oldDefects: readonly Case[] = [
  {
    name: 'a late copy of a write rolls the job back, and after a crash its statements are applied again',
    place: 'same log',
    given: ['lateMessage', 'processCrash'],
    breaks: appliedWrongly,
  },
  {
    name: 'a claim that a fail-over has lost is given to another worker under the same number',
    place: 'same log',
    given: ['failOver'],
    breaks: appliedWrongly,
  },
  {
    name: 'a claim that is not on the disk is given to another worker under the same number',
    change: { isClaimFlushed: false },
    place: 'same log',
    given: ['serverCrash'],
    breaks: appliedWrongly,
  },
  {
    name: 'an xid that is given out again after a fail-over makes an item done that is not there',
    place: 'another host',
    given: ['failOver'],
    breaks: appliedWrongly,
  },
]
for (const { name, change, place, given, breaks } of oldDefects) {
  test(`with a counter for a fence, ${name}`, (t) => {
    const found = look(t, { ...oldProtocol, ...change }, place, given)
    assert.equal(found.violation?.invariant, breaks)
    t.diagnostic(story(found))
  })
}
