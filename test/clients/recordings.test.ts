import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Names, readRecording, replay } from '../support/http/recording.ts'
import { eventually, setup } from '../support/service/setup.ts'

for (const client of ['carto-python-1.11.3', 'cartoframes-1.2.4', 'cartodb-npm-0.5.1']) {
  test(`recorded requests of ${client} get the answers that it accepted`, async (t) => {
    const { url, user } = await setup(t, { worker: true })
    const { username, masterToken } = user
    const basic = Buffer.from(`${username}:${masterToken}`).toString('base64')
    const names = new Names({ host: new URL(url).host, user: username, token: masterToken, basic })
    for (const exchange of await readRecording(client)) {
      const check = async () => {
        const answer = await replay(url, exchange, names)
        const known = onlyKnown(answer, exchange.answer)
        assert.deepEqual(known, exchange.answer, `${exchange.method} ${exchange.path}`)
      }
      // A read may be too early: a job takes its time.
      await (exchange.method === 'GET' ? eventually(check) : check())
    }
  })
}

/** Leaves out members added later: no client reads them. */
function onlyKnown(value: unknown, recorded: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(recorded)) {
    return value.map((each, place) => onlyKnown(each, recorded[place]))
  }
  if (!isObject(value) || !isObject(recorded)) return value
  const known = Object.entries(value).filter(([name]) => name in recorded)
  return Object.fromEntries(known.map(([name, each]) => [name, onlyKnown(each, recorded[name])]))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
