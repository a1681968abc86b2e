import { test } from 'node:test'
import { holds, look } from './look.ts'
import { type Chance, chances, type Place, places, wholeProtocol } from './protocol.ts'

// Three are searched in minutes and need --max-old-space-size=8000.
const events = Number(process.env.CARTAGE_TEST_PROTOCOL_EVENTS ?? 2)

for (const place of places) {
  test(`any ${events} events break no promise, ${place}`, (t) => {
    holds(look(t, wholeProtocol, place, chances, events))
  })
}

/** Deeper searches, where the danger is greatest. */
const dangers: readonly (readonly [Place, readonly Chance[]])[] = [
  ['same log', ['lateMessage', 'processCrash', 'cancel']],
  ['another host', ['lateMessage', 'processCrash', 'cancel']],
  // Claims and announcements that are not on the disk.
  ['same log', ['serverCrash', 'processCrash', 'cancel']],
  ['same log', ['serverCrash', 'lateMessage', 'cancel']],
  ['another host', ['serverCrash', 'processCrash', 'cancel']],
  ['another host', ['failure', 'suspicion', 'failOver']],
  ['synchronous host', ['failOver', 'cutConnection', 'cancel']],
  ['same log', ['retry', 'lateMessage', 'processCrash']],
  ['another host', ['retry', 'failOver', 'cancel']],
  ['another host', ['retry', 'lateMessage', 'processCrash']],
]
for (const [place, given] of dangers) {
  test(`${given.join(', ')} together break no promise, ${place}`, (t) => {
    holds(look(t, wholeProtocol, place, given))
  })
}
