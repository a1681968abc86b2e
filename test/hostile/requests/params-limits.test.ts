import assert from 'node:assert/strict'
import { test } from 'node:test'
import { post, type Reply } from '../../support/http/ask.ts'
import { setup, type TestUser } from '../../support/service/setup.ts'

test('as many values as the protocol can count are accepted', async (t) => {
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

test('more than half a million characters besides the SQL are refused, wherever they are', async (t) => {
  const { user } = await setup(t)
  const many = `[[${'1,'.repeat(7_000_000)}1]]`
  const json = (body: string) => ({ headers: { 'content-type': 'application/json' }, body })
  for (const init of [
    json(`{"q":"select cardinality($1::int[])","params":${many}}`),
    json(`{"params":${many},"q":"select cardinality($1::int[])"}`),
    json(`{"q":"select 1","other":${many}}`),
    json(`{"q":"select 1","q":${many}}`),
    json(`{"q":"select 1"${',"a":1'.repeat(100_000)}}`),
    json(many),
    {
      body: new URLSearchParams({
        q: 'select cardinality($1::int[])',
        params: `[[${'1,'.repeat(300_000)}1]]`,
      }),
    },
  ]) {
    const { status, body } = await post(user, init)
    assert.deepEqual([status, body.error], [413, ['params is longer than 524288 characters']])
  }
  const key = `"api_key":"${user.masterToken}"`
  const long = await post(user, json(`{"q":"select 1 as n /*${'x'.repeat(8_000_000)}*/","params":[],${key}}`))
  assert.deepEqual(long.body.rows, [{ n: 1 }])
})

test('objects, lone surrogates and nested arrays are read exactly', async (t) => {
  const { user } = await setup(t)
  const send = (q: string, params: string) =>
    post(user, {
      headers: { 'content-type': 'application/json' },
      body: ` {"params": [7], "q": "select ${q} as v", "params" :${params}, "api_key": "${user.masterToken}" }\n`,
    })
  const served: [q: string, params: string, value: unknown][] = [
    ['$1::jsonb::text', '[{"__proto__": 1}]', '{"__proto__": 1}'],
    ['$1::jsonb[]', '[[{"a": 1}, [1, "\\"]"], null]]', [{ a: 1 }, [1, '"]'], null]],
    ['$1::text[]', '[["\\u0022\\u005c\\/\\n\\ud83d\\ude00\\\\", null]]', ['"\\/\n😀\\', null]],
    ['$1::bool[]', '[[true, false, null]]', [true, false, null]],
  ]
  for (const [q, params, value] of served) {
    const { text, body } = await send(q, params)
    assert.deepEqual(body.rows, [{ v: value }], text)
  }
  for (const params of ['["\\ud800"]', '[["\\udc00x"]]']) {
    const { status, body } = await send('$1::text', params)
    assert.deepEqual([status, body.error], [400, ['The parameter $1 contains half of a surrogate pair']])
  }
})

function bind(user: TestUser, q: string, params: readonly unknown[]): Promise<Reply> {
  return post(user, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ q, params, api_key: user.masterToken }),
  })
}
