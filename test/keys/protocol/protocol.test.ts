import assert from 'node:assert/strict'
import { test } from 'node:test'
import { story } from '../../support/search/search.ts'
import { look } from './look.ts'
import { chances, type Setting, wholeProtocol } from './protocol.ts'

// Three are searched in ten seconds.
const events = Number(process.env.CARTAGE_TEST_PROTOCOL_EVENTS ?? 2)

const settings: readonly Setting['clients'][] = [
  ['create', 'create'],
  ['create', 'delete'],
  ['delete', 'delete'],
]
for (const clients of settings) {
  test(`any ${events} events break no promise about keys while clients ${clients.join(' and ')}`, (t) => {
    const found = look(t, wholeProtocol, clients, chances, events)
    assert.equal(found.violation, undefined, story(found))
  })
}
