import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../../src/postgres/transaction.ts'
import { grantsOf, type KeyDocument, keysClient, send, tablesOf } from '../support/keys/keys-client.ts'
import { eventually, setup } from '../support/service/setup.ts'

type List = {
  total: number
  count: number
  result: (KeyDocument & { _links: { self: string } })[]
  _links: Record<'first' | 'last' | 'prev' | 'next', { href: string } | undefined>
}

test('a list has master, default and regular keys in this order, each in the requested order', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  for (const name of ['b', 'a', 'C']) await keys.make(name)
  await keys.regenerate('b')
  const order = async (query: string) => {
    const { status, body } = await keys.list(query)
    assert.equal(status, 200, query)
    return (body as unknown as List).result.map((key) => key.name).join()
  }
  const first = 'Master,Default public,'
  assert.equal(await order(''), `${first}a,C,b`)
  assert.equal(await order('?order=updated_at'), `${first}a,C,b`)
  assert.equal(await order('?order=updated_at&order_direction=desc'), `${first}b,C,a`)
  assert.equal(await order('?order=created_at'), `${first}b,a,C`)
  assert.equal(await order('?order=created_at&order_direction=desc'), `${first}C,a,b`)
  assert.equal(await order('?order=name'), `${first}C,a,b`)
  assert.equal(await order('?order=name&order_direction=desc'), `${first}b,a,C`)
  assert.equal(await order('?order=type'), `${first}b,a,C`)
})

test('sorting by token or grants sorts by creation, so that the order reveals no secret', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  const names = Array.from({ length: 8 }, (_, number) => `k${number}`)
  for (const name of names) await keys.make(name)
  for (const order of ['token', 'grants']) {
    const { body } = await keys.list(`?type=regular&order=${order}`)
    assert.deepEqual(
      (body as unknown as List).result.map((key) => key.name),
      names,
    )
  }
})

test('a page is read by an index of its order, whatever the number of keys', async (t) => {
  const { user, service } = await setup(t, { isIsolated: true })
  const { databases, secrets } = service.services
  const { control } = databases
  const { userId } = user.account
  await control.query(
    `insert into cartage.api_keys (user_id, name, type, role_name, token_hash, token_encrypted)
     select $1, 'k' || n, 'regular', 'none' || n, int4send(n), $2 from generate_series(1, 3000) n`,
    [userId, secrets.encryptToken('token')],
  )
  await control.query('analyze cartage.api_keys')
  for (const [order, direction, index] of [
    ['name', 'asc', 'api_keys_by_name'],
    ['name', 'desc', 'api_keys_by_name'],
    ['grants', 'asc', 'api_keys_by_creation'],
    ['updated_at', 'desc', 'api_keys_by_change'],
  ] as const) {
    // The list leaves its prepared statement on a connection, usually the next one borrowed.
    const plan = await eventually(async () => {
      const { body } = await keysClient(user).list(`?order=${order}&order_direction=${direction}`)
      const { total, count } = body as unknown as List
      assert.deepEqual({ total, count }, { total: 3002, count: 20 })
      const values = `${userId}, '{master,default,regular}', 20, 1, null, null, null`
      const { rows } = await control.query(`explain execute "keys-by-${order}-${direction}" (${values})`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    })
    assert.match(plan, new RegExp(`Index Scan.* using ${index} on api_keys`), plan)
  }
})

test('a list can be filtered by several types, separated by commas', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  await keys.make('k')
  const names = async (query: string) =>
    ((await keys.list(query)).body as unknown as List).result.map((key) => key.name)
  assert.deepEqual(await names('?type=regular'), ['k'])
  assert.deepEqual(await names('?type=regular,master'), ['Master', 'k'])
  assert.deepEqual(await names('?type=default'), ['Default public'])
})

test('pages link to each other with the parameters of the request, never with a credential', async (t) => {
  const { user } = await setup(t)
  const names = ['k1', 'k2', 'k3', 'k4', 'k5']
  for (const name of names) await keysClient(user).make(name)
  const pages: List[] = []
  let address: string | undefined = `${user.base}/api/v3/api_keys/?per_page=2&order=name&type=regular&page=1`
  while (address) {
    const answer = await send(`${address}&api_key=${user.masterToken}&map_key=x`)
    assert.equal(answer.status, 200)
    assert.ok(!JSON.stringify(answer.body._links).includes('_key='), 'no credential in links')
    const page = answer.body as unknown as List
    pages.push(page)
    address = page._links.next?.href
  }
  assert.deepEqual(
    pages.map((page) => page.result.map((key) => key.name)),
    [['k1', 'k2'], ['k3', 'k4'], ['k5']],
  )
  assert.deepEqual(
    pages.map((page) => [page.total, page.count]),
    [
      [5, 2],
      [5, 2],
      [5, 1],
    ],
  )
  const numbers = ({ _links }: List) =>
    Object.fromEntries(
      Object.entries(_links).map(([name, link]) => [name, new URL(link!.href).searchParams.get('page')]),
    )
  assert.deepEqual(pages.map(numbers), [
    { first: '1', last: '3', next: '2' },
    { first: '1', last: '3', prev: '1', next: '3' },
    { first: '1', last: '3', prev: '2' },
  ])
  for (const { href } of Object.values(pages[1]!._links) as { href: string }[]) {
    const { searchParams, pathname } = new URL(href)
    assert.equal(pathname, `/user/${user.username}/api/v3/api_keys`)
    assert.deepEqual(
      ['per_page', 'order', 'type'].map((name) => searchParams.get(name)),
      ['2', 'name', 'regular'],
    )
  }
})

test('every listed key links to itself', async (t) => {
  const { user } = await setup(t)
  await keysClient(user).make('a/b ?')
  const { result } = (await keysClient(user).list()).body as unknown as List
  for (const { name, _links } of result) {
    const answer = await send(`${_links.self}?api_key=${user.masterToken}`)
    assert.equal(answer.body.name, name)
  }
})

test('a list shows every key as reading it by name does', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  await user.sql('create table t (id int); create table u (id int)')
  const apis = { type: 'apis', apis: ['maps'] }
  const services = { type: 'dataservices', services: ['routing'] }
  const [, database] = grantsOf({ t: ['select', 'delete'], u: ['insert'] }, ['public'])
  await keys.make('apis alone', [apis])
  await keys.make('tables', [services, database, apis])
  await keys.make('metadata', [{ type: 'database', table_metadata: [] }, apis, services])
  const { body } = await keys.list()
  for (const { _links, ...key } of (body as unknown as List).result) {
    assert.deepEqual(key, (await keys.read(key.name)).body)
  }
})

test('a key that enters the page while it is read is shown with its grants', async (t) => {
  const { user, service, admin } = await setup(t, { isIsolated: true })
  const { config, databases } = service.services
  const keys = keysClient(user)
  await user.sql('create table t (id int)')
  await keys.make('a', grantsOf({ t: ['select'] }))
  await keys.make('b', grantsOf({ t: ['insert'] }))
  const list = () => keys.list('?type=regular&order=name&per_page=1')
  // A request shortly after another is authenticated from the cache, without reading the users.
  await list()
  let answer: ReturnType<typeof list> | undefined
  await inTransaction(databases.control, async (tx) => {
    await tx.query('lock table cartage.users in access exclusive mode')
    answer = list()
    await eventually(async () => {
      const { rows } = await admin(
        `select query from pg_stat_activity where wait_event_type = 'Lock' and datname = $1`,
        [config.namespace],
      )
      assert.ok(rows.some(({ query }) => /isCallerKnown/.test(query)))
    })
    await tx.query(`update cartage.api_keys set name = 'c' where name = 'a'`)
  })
  const { result } = (await answer!).body as unknown as List
  assert.deepEqual(
    result.map((key) => [key.name, tablesOf(key)]),
    [['b', { 'public.t': 'insert' }]],
  )
})

test('a page beyond the last is 200 with an empty result', async (t) => {
  const { user } = await setup(t)
  for (const page of ['2', '1000000', '9007199254740991']) {
    const { status, body } = await keysClient(user).list(`?page=${page}&per_page=1000`)
    const { total, count, result, _links } = body as unknown as List
    assert.deepEqual({ status, total, count, result }, { status: 200, total: 2, count: 0, result: [] })
    assert.equal(new URL(_links.prev!.href).searchParams.get('page'), '1')
    assert.equal(_links.next, undefined)
  }
})

test('a page has twenty keys unless another number is requested', async (t) => {
  const { user } = await setup(t)
  for (let number = 1; number <= 20; number += 1) await keysClient(user).make(`k${number}`)
  const counts = await Promise.all(
    ['', '?page=2', '?per_page=1', '?per_page=1000'].map(
      async (query) => (await keysClient(user).list(query)).body.count,
    ),
  )
  assert.deepEqual(counts, [20, 2, 1, 22])
})

test('a bad value of a list parameter is 400', async (t) => {
  const { user } = await setup(t)
  const bad = [
    ...['0', '-1', '1.5', 'x', '', '1e3', '99999999999999999999', '9007199254740993', '1&page=2'].map(
      (page) => `page=${page}`,
    ),
    ...['0', '-1', '1001', 'x', '', '20&per_page=30'].map((size) => `per_page=${size}`),
    ...['id', 'Name', '', 'name;drop', 'role_name', 'name&order=type'].map((order) => `order=${order}`),
    ...['up', '', 'ASC'].map((direction) => `order_direction=${direction}`),
    ...['admin', '', 'regular,', 'regular,admin', 'regular&type=master'].map((type) => `type=${type}`),
  ]
  for (const query of bad) {
    const { status, body } = await keysClient(user).list(`?${query}`)
    assert.equal(status, 400, query)
    assert.equal(typeof body.errors, 'string')
    assert.equal(body.errors_cause, null)
  }
})
