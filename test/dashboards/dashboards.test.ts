import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import type { DashboardDefinition } from '../../src/contract/dashboards.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { saved } from '../support/queries/queries-api.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const part = { query: 'towns', as: 'table', x: 0, y: 0, w: 6, h: 4 } as const

const towns = {
  title: 'Towns',
  description: 'Of a country',
  refresh_seconds: 30,
  filters: [
    { param: 'country', label: 'Country', type: 'text', default: 'FR', options: ['FR', 'NO'] },
    { param: 'least', label: 'At least', type: 'integer' },
  ],
  parts: [
    { id: 'list', title: 'List', ...part },
    { query: 'towns', as: 'number', column: 'people', x: 6, y: 0, w: 3, h: 2 },
    { query: 'secret', as: 'chart', chart: { kind: 'bar', x: 'n' }, x: 0, y: 4, w: 12, h: 6 },
  ],
} as const satisfies DashboardDefinition

/** With the key as a query parameter; empty: no key. */
async function ask(user: TestUser, path: string, { method = 'GET', token = user.masterToken, body }: Asked) {
  const answer = await fetch(`${user.base}/api/v4/dashboards${path}${token && `?api_key=${token}`}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, document: text ? JSON.parse(text) : undefined }
}
type Asked = Readonly<{ method?: string; token?: string; body?: unknown }>

test('the master key saves, reads, lists, replaces and deletes a dashboard, which ends with its user', async (t) => {
  const house = await setup(t)
  const { user, service } = house
  const client = clientOf(t, house)
  await saved(user, 'towns', { sql: 'select :country as country', params: { country: { required: true } } })
  const made = await client.dashboards.save('towns', towns)
  assert.deepEqual(
    made.parts.map(({ id }) => id),
    ['list', 'part-1', 'part-2'],
  )
  assert.deepEqual([made.public, made.refresh_seconds, made.filters], [false, 30, towns.filters])
  // A missing query is allowed: it may be created or deleted later.
  assert.deepEqual(made.queries, {
    towns: { public: false, params: { country: { type: 'text', required: true } } },
  })
  assert.deepEqual(await client.dashboards.get('towns'), made)
  // A document that was read can be sent again.
  const again = await ask(user, '/towns', { method: 'PUT', body: made })
  assert.deepEqual([again.status, again.document.parts], [200, made.parts])
  assert.equal((await ask(user, '/another', { method: 'PUT', body: { title: 'Another' } })).status, 201)
  const list = await client.dashboards.list()
  assert.deepEqual(
    list.map(({ name, title, public: isPublic }) => [name, title, isPublic]),
    [
      ['another', 'Another', false],
      ['towns', 'Towns', false],
    ],
  )
  await client.dashboards.delete('another')
  await assert.rejects(client.dashboards.delete('another'), { status: 404, code: 'dashboard-not-found' })
  await deleteUser(service.services.installation, user.username)
  const { rows } = await service.services.databases.control.query(
    'select from cartage.dashboards where user_id = $1',
    [user.account.userId],
  )
  assert.deepEqual(rows, [])
})

test('a public dashboard is read without a key, and then names only the public queries', async (t) => {
  const { user } = await setup(t)
  await saved(user, 'towns', { sql: 'select :country as country', public: true })
  await saved(user, 'secret', { sql: 'select 1 as n' })
  const put = (body: object, token?: string) =>
    ask(user, '/towns', { method: 'PUT', body, ...(token !== undefined && { token }) })
  await put(towns)
  const reader = await keysClient(user).create('reader', grantsOf())
  const readers = [undefined, reader.body.token, ''] as const
  const statuses = async () =>
    Promise.all(
      readers.map(async (token) => (await ask(user, '/towns', token === undefined ? {} : { token })).status),
    )
  assert.deepEqual(await statuses(), [200, 404, 404])
  await put({ ...towns, public: true })
  assert.deepEqual(await statuses(), [200, 200, 200])
  const named = async (token: string) =>
    Object.keys((await ask(user, '/towns', { token })).document.queries).sort()
  assert.deepEqual(await named(''), ['towns'])
  assert.deepEqual(await named(reader.body.token), ['secret', 'towns'])
  const { headers } = await fetch(`${user.base}/api/v4/dashboards/towns`)
  assert.equal(headers.get('cache-control'), 'public, no-cache')
  assert.match(headers.get('vary') ?? '', /Authorization/)
  for (const token of [reader.body.token, '']) {
    assert.equal((await put(towns, token)).status, 403)
    assert.equal((await ask(user, '', { token })).status, 403)
    assert.equal((await ask(user, '/towns', { method: 'DELETE', token })).status, 403)
  }
})

test('an error in a dashboard is 400 with its place', async (t) => {
  const { user } = await setup(t)
  const filter = { param: 'country', label: 'Country', type: 'text' }
  for (const [body, text] of [
    [[], /The body must be an object/],
    [{}, /title must be a text/],
    [{ title: ' ' }, /title must not be empty/],
    [{ title: 'x', rows: [] }, /no member 'rows'/],
    [{ title: 'x', public: 'yes' }, /public must be true or false/],
    [{ title: 'x', refresh_seconds: 9 }, /refresh_seconds must be a whole number from 10/],
    [{ title: 'x', parts: {} }, /parts must be a list/],
    [{ title: 'x', parts: [part, { ...part, y: 3 }] }, /parts\[1\] lies over parts\[0\]/],
    [{ title: 'x', parts: [{ ...part, x: 7 }] }, /parts\[0\] ends beyond the grid/],
    [{ title: 'x', parts: [{ ...part, h: 0 }] }, /parts\[0\]\.h must be a whole number from 1 to 40/],
    [{ title: 'x', parts: [{ ...part, as: 'gauge' }] }, /parts\[0\]\.as must be one of table, number/],
    [{ title: 'x', parts: [{ ...part, query: 'a b' }] }, /parts\[0\]\.query must be the name/],
    [{ title: 'x', parts: [{ ...part, chart: {} }] }, /parts\[0\]\.chart is for a part as chart/],
    [
      { title: 'x', parts: [{ ...part, as: 'chart', chart: { kind: 'gauge', x: 'n' } }] },
      /parts\[0\]: chart\.kind must/,
    ],
    [{ title: 'x', parts: [1, 2].map(() => ({ ...part, id: 'a' })) }, /parts\[1\]\.id is that of another/],
    [{ title: 'x', parts: Array(41).fill(part) }, /parts has more than 40 entries/],
    [{ title: 'x', filters: Array(21).fill(filter) }, /filters has more than 20 entries/],
    [{ title: 'x', filters: [filter, filter] }, /filters\[1\]\.param is that of another filter/],
    [{ title: 'x', filters: [{ ...filter, param: 'format' }] }, /filters\[0\]\.param cannot be format/],
    [{ title: 'x', filters: [{ ...filter, type: 'json' }] }, /filters\[0\]\.type must be one of text/],
    [
      { title: 'x', filters: [{ ...filter, type: 'integer', default: 'many' }] },
      /filters\[0\]\.default must be a value of the type integer/,
    ],
    [
      '{"title": "x", "filters": [{"param": "id", "type": "bigint", "options": [9007199254740993]}]}',
      /filters\[0\]\.options\[0\] has too many digits/,
    ],
    [
      '{"title": "x", "filters": [{"param": "share", "type": "numeric", "default": 0.12345678901234567890}]}',
      /filters\[0\]\.default has too many digits/,
    ],
    [
      { title: 'x', filters: [{ ...filter, default: { toString: 1 } }] },
      /filters\[0\]\.default must be a value/,
    ],
    [
      `{"title": "x", "filters": [{"param": "a", "options": [${deep}]}]}`,
      /filters\[0\]\.options\[0\] must be a value/,
    ],
    [
      `{"title": "x", "parts": [{"query": "q", "as": "chart", "chart": ${deep}, "x": 0}]}`,
      /parts\[0\]: chart has no member 'a'/,
    ],
    [{ title: 'x', filters: wide, description: 'x' }, /at most 256 KB/],
  ] as const) {
    const { status, document } = await ask(user, '/one', { method: 'PUT', body })
    assert.equal(`${status} ${document.code}`, '400 dashboard-invalid', JSON.stringify(body).slice(0, 200))
    assert.match(document.error[0], text)
  }
  for (const name of ['a%20b', '-a', 'x'.repeat(129)])
    assert.equal((await ask(user, `/${name}`, { method: 'PUT', body: { title: 'x' } })).status, 400)
})

test('two people editing a dashboard do not overwrite each other: saving with If-Match of an old version is 412', async (t) => {
  const house = await setup(t)
  const { user } = house
  const client = clientOf(t, house)
  const changed = { status: 412, code: 'dashboard-changed' }
  await saved(user, 'towns', { sql: 'select 1 as n' })
  await client.dashboards.save('towns', towns, { ifNew: true })
  await assert.rejects(client.dashboards.save('towns', { title: 'Other' }, { ifNew: true }), changed)
  const [mine, theirs] = [
    await client.dashboards.getWithEtag('towns'),
    await client.dashboards.getWithEtag('towns'),
  ]
  // The state of a query belongs to the answer, not to the version.
  await saved(user, 'towns', { sql: 'select 2 as n', public: true })
  const titles = ['One', 'Two']
  const both = await Promise.allSettled(
    [mine, theirs].map(({ dashboard, etag }, at) =>
      client.dashboards.save('towns', { ...dashboard, title: titles[at]! }, { ifMatch: etag }),
    ),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const won = both.findIndex(({ status }) => status === 'fulfilled')
  assert.equal((await client.dashboards.get('towns')).title, titles[won])
  // The same request again, because its answer was lost.
  await client.dashboards.save('towns', { ...mine.dashboard, title: titles[won]! }, { ifMatch: mine.etag })
  await assert.rejects(client.dashboards.save('towns', { title: 'Late' }, { ifMatch: mine.etag }), changed)
  const put = (headers: { 'if-match'?: string; 'if-none-match'?: string }, title = 'By hand') =>
    fetch(`${user.base}/api/v4/dashboards/towns?api_key=${user.masterToken}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ title }),
    })
  const first = await put({})
  assert.equal(first.status, 200)
  const { etag } = await client.dashboards.getWithEtag('towns')
  assert.equal(first.headers.get('etag'), etag)
  // A compressing proxy makes the tag a weak one.
  assert.equal((await put({ 'if-match': `"other", W/${etag}` }, 'Weak')).status, 200)
  assert.equal((await put({ 'if-match': '*' }, 'Any')).status, 200)
  for (const headers of [
    { 'if-match': 'towns' },
    { 'if-none-match': etag },
    { 'if-match': '*', 'if-none-match': '*' },
  ])
    assert.equal((await put(headers)).status, 400)
  await client.dashboards.delete('towns')
  await assert.rejects(client.dashboards.save('towns', { title: 'Gone' }, { ifMatch: etag }), changed)
  assert.equal((await put({ 'if-match': '*' })).status, 412)
})

test('deleting with If-Match of an old version is 412 and deletes nothing', async (t) => {
  const house = await setup(t)
  const { user } = house
  const client = clientOf(t, house)
  await client.dashboards.save('towns', { title: 'First' })
  const { etag } = await client.dashboards.getWithEtag('towns')
  await client.dashboards.save('towns', { title: 'Second' })
  const last = await client.dashboards.getWithEtag('towns')
  await assert.rejects(client.dashboards.delete('towns', { ifMatch: etag }), {
    status: 412,
    code: 'dashboard-changed',
  })
  assert.deepEqual(await client.dashboards.getWithEtag('towns'), last)
  const remove = (ifMatch?: string) =>
    fetch(`${user.base}/api/v4/dashboards/towns?api_key=${user.masterToken}`, {
      method: 'DELETE',
      ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }),
    })
  assert.equal((await remove('towns')).status, 400)
  await client.dashboards.delete('towns', { ifMatch: last.etag })
  // Nothing is left that another person could have changed.
  assert.equal((await remove(last.etag)).status, 404)
  for (const ifMatch of [undefined, '*', `W/${last.etag}`]) {
    await client.dashboards.save('towns', last.dashboard)
    assert.equal((await remove(ifMatch)).status, 204)
  }
})

const deep = `{"a": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`
const wide = Array.from({ length: 20 }, (_, at) => ({
  param: `p${at}`,
  label: 'Wide',
  type: 'text',
  options: Array.from({ length: 14 }, () => 'x'.repeat(1_000)),
}))

test('a user has at most 100 dashboards, however many are saved concurrently', async (t) => {
  const { user } = await setup(t)
  const put = (name: string) => ask(user, `/${name}`, { method: 'PUT', body: { title: 'One of many' } })
  for (let tens = 0; tens < 9; tens += 1)
    await Promise.all(Array.from({ length: 11 }, (_, at) => put(`d${tens}-${at}`)))
  const last = await Promise.all(['x', 'y', 'z'].map(put))
  assert.deepEqual(last.map(({ status }) => status).sort(), [201, 409, 409])
  const refused = last.find(({ status }) => status === 409)!
  assert.equal(refused.document.code, 'too-many-dashboards')
  assert.equal((await put('d0-0')).status, 200)
})
