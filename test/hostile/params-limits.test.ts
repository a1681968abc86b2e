import assert from 'node:assert/strict'
import { test } from 'node:test'
import { post, type Reply } from '../support/ask.ts'
import { setup, type TestUser } from '../support/setup.ts'

test('as many values as the protocol can count are served', async (t) => {
  const { user } = await setup(t)
  const places = Array.from({ length: 65_535 }, (_, place) => `($${place + 1}::int)`)
  const values = places.map((_, place) => (place % 3 === 0 ? null : place))
  const reply = await bind(
    user,
    `select count(*) as all, count(n) as n from (values ${places}) v (n)`,
    values,
  )
  assert.deepEqual(reply.body.rows, [{ all: 65_535, n: 43_690 }], reply.text.slice(0, 200))
})

function bind(user: TestUser, q: string, params: readonly unknown[]): Promise<Reply> {
  return post(user, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, params, api_key: user.masterToken }),
  })
}
