import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { basic, setup } from '../support/service/setup.ts'

const uploads = [
  ['POST', '/api/v2/sql/copyfrom?q=copy%20nowhere%20from%20stdin'],
  ['POST', '/api/v1/imports?filename=a.csv&collision_strategy=wrong'],
  ['PATCH', '/api/v4/uploads/37c7050e-46a4-4476-b82e-268a4f2ea5ed'],
] as const

for (const [method, path] of uploads) {
  test(`a client that expects 100-continue is refused before it sends its file: ${method} ${path.split('?')[0]}`, async (t) => {
    const { user } = await setup(t)
    const headers = { ...basic(user.username, user.masterToken), expect: '100-continue', 'content-length': 6 }
    const sent = request(`${user.base}${path}`, { agent: false, method, headers })
    t.after(() => sent.destroy())
    let isAsked = false
    sent.on('continue', () => {
      isAsked = true
    })
    sent.flushHeaders()
    const status = await new Promise((resolve, reject) => {
      sent.on('error', reject)
      sent.on('response', (response) => resolve(response.statusCode))
    })
    assert.equal(isAsked, false)
    assert.match(String(status), /^4/)
  })
}
