import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cartage } from '../support/call.ts'
import { setup } from '../support/setup.ts'

test('the command line prints every digit that PostgreSQL gave', async (t) => {
  const { url, user } = await setup(t)
  const me = { CARTAGE_URL: url, CARTAGE_USER: user.username, CARTAGE_API_KEY: user.masterToken }
  const numbers = '{"long":9007199254740993,"price":1.50}'
  const query = 'select 9007199254740993 as long, 1.50 as price'
  assert.equal((await cartage(me, 'sql', query)).out, `${numbers}\n`)
  const { out } = await cartage(me, 'sql', query, '--json')
  assert.ok(out.startsWith(`{"rows":[${numbers}]`), out)
})
