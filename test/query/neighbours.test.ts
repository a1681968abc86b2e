import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareTable, unshareTable } from '../../src/tables/share-table.ts'
import { ask } from '../support/http/ask.ts'
import { basic, setup, type TestUser } from '../support/service/setup.ts'

type Json = Record<string, unknown>

async function getJson(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Json }> {
  const response = await fetch(url, { headers })
  return { status: response.status, body: (await response.json()) as Json }
}

const withKey = (user: TestUser, path: string, token = user.masterToken) =>
  `${user.base}${path}api_key=${token}`

test('/api/v3/me and /api/v4/me show the user of the key and the rest of the quota', async (t) => {
  const { url, createUser } = await setup(t)
  const limited = await createUser({ quotaBytes: 100_000_000 })
  for (const version of ['v3', 'v4']) {
    const { status, body } = await getJson(`${url}/api/${version}/me?api_key=${limited.masterToken}`)
    assert.equal(status, 200)
    assert.equal(body.username, limited.username)
    assert.equal(body.organization, null)
    assert.deepEqual(body.config, { user_name: limited.username })
    const base = `${url}/user/${limited.username}`
    assert.deepEqual(body.api_endpoints, { sql: base, maps: base, import: base, auth: base })
    const user = body.user_data as Json
    assert.equal(user.username, limited.username)
    assert.equal(user.quota_in_bytes, 100_000_000)
    assert.equal(user.remaining_byte_quota, 100_000_000 - (user.db_size_in_bytes as number))
  }
})

test('an unlimited account has no remaining quota in its document', async (t) => {
  const { url, user } = await setup(t)
  const { body } = await getJson(`${url}/api/v3/me`, basic(user.username, user.masterToken))
  assert.ok(!('remaining_byte_quota' in (body.user_data as Json)), 'an unlimited account has no number')
})

test('every table has the time of its last change, because clients sort by it', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table plain (x int)')
  const { body } = await getJson(withKey(user, '/api/v1/viz?'))
  const [table] = body.visualizations as Json[]
  assert.equal(table!.updated_at, user.account.createdAt.toISOString())
})

test('the rows of a table that PostgreSQL has not counted yet are null, not 0', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table fresh as select 1 as x; create view seen as select * from fresh')
  await user.sql('create table counted as select 1 as x')
  await user.sql('analyze counted')
  const { body } = await getJson(withKey(user, '/api/v1/viz?order=name&order_direction=asc&'))
  const rows = (body.visualizations as { name: string; table: Json }[]).map((one) => [
    one.name,
    one.table.row_count,
  ])
  assert.deepEqual(Object.fromEntries(rows), { counted: 1, fresh: null, seen: null })
})

test('without a valid credential /api/v3/me names no user', async (t) => {
  const { url, user } = await setup(t)
  for (const [query, headers] of [
    ['', {}],
    ['?api_key=default_public', {}],
    ['?api_key=wrong', {}],
    ['', basic(user.username, 'wrong')],
    ['', basic('nobody-at-all', user.masterToken)],
  ] as const) {
    const { status } = await getJson(`${url}/api/v3/me${query}`, headers)
    assert.equal(status, 401)
  }
})

test('a member is shown its organization', async (t) => {
  const { url, createOrganization, createUser } = await setup(t)
  const { name } = await createOrganization()
  const member = await createUser({ organization: name })
  const { body } = await getJson(`${url}/api/v4/me?api_key=${member.masterToken}`)
  assert.deepEqual([body.username, body.organization], [member.username, { name }])
})

test('the tables of an account are listed with privacy, page by page', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table a (x int); create table b (x int); create view c as select 1 as x')
  await ask(user, `grant select on b to "${user.account.publicRole}"`)
  const { status, body } = await getJson(
    withKey(user, '/api/v1/viz/?type=table&order=name&order_direction=asc&'),
  )
  assert.equal(status, 200)
  const list = body.visualizations as Json[]
  assert.deepEqual(
    list.map(({ name, type, privacy }) => [name, type, privacy]),
    [
      ['a', 'table', 'PRIVATE'],
      ['b', 'table', 'PUBLIC'],
      ['c', 'table', 'PRIVATE'],
    ],
  )
  assert.deepEqual([body.total_entries, body.total_user_entries], [3, 3])
  const second = await getJson(withKey(user, '/api/v1/viz?page=2&per_page=2&order=name&order_direction=asc&'))
  assert.deepEqual(
    (second.body.visualizations as Json[]).map(({ name }) => name),
    ['c'],
  )
  assert.equal(second.body.total_entries, 3)
  const beyond = await getJson(withKey(user, '/api/v1/viz?page=9&'))
  assert.deepEqual([beyond.body.visualizations, beyond.body.total_entries], [[], 3])
  const maps = await getJson(withKey(user, '/api/v1/viz?type=derived&'))
  assert.deepEqual(maps.body.visualizations, [])
  assert.equal((await getJson(withKey(user, '/api/v1/viz?page=0&'))).status, 400)
})

test('without a key the public tables are listed, and no others', async (t) => {
  const { user, service } = await setup(t)
  await ask(user, 'create table hidden (x int); create table shown (x int)')
  await shareTable(service.services.databases, user.account, 'shown')
  const { body } = await getJson(`${user.base}/api/v1/viz`)
  assert.deepEqual(
    (body.visualizations as Json[]).map(({ name }) => name),
    ['shown'],
  )
  assert.equal((await getJson(`${user.base}/api/v1/viz/hidden`)).status, 404)
  assert.equal((await getJson(`${user.base}/api/v1/viz/shown`)).status, 200)
})

test('one table is read by its name', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table "Odd name" (x int)')
  const { status, body } = await getJson(withKey(user, '/api/v1/viz/Odd%20name?'))
  assert.equal(status, 200)
  assert.deepEqual([body.id, body.name, body.privacy], ['Odd name', 'Odd name', 'PRIVATE'])
  assert.equal((body.table as Json).schema, 'public')
  const missing = await getJson(withKey(user, '/api/v1/viz/nothing?'))
  assert.equal(missing.status, 404)
})

test('a prepared table shows when it was last changed', async (t) => {
  const { user } = await setup(t)
  await ask(user, "create table t (x int); select CDB_CartodbfyTable('t'); insert into t (x) values (1)")
  const { body } = await getJson(withKey(user, '/api/v1/viz/t?'))
  const age = Date.now() - Date.parse(body.updated_at as string)
  assert.ok(age > -60_000 && age < 600_000, String(body.updated_at))
})

test('PUT makes a table public or private, and needs a key', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table t (x int)')
  const put = async (privacy: string, token: string) => {
    const response = await fetch(`${user.base}/api/v1/viz/t`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 't', privacy, api_key: token }),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  assert.equal((await put('PUBLIC', 'default_public')).status, 403)
  const shared = await put('PUBLIC', user.masterToken)
  assert.deepEqual([shared.status, shared.body.privacy], [200, 'PUBLIC'])
  assert.equal((await ask(user, 'select * from t', { api_key: '' })).status, 200)
  assert.equal((await put('PRIVATE', user.masterToken)).body.privacy, 'PRIVATE')
  assert.equal((await ask(user, 'select * from t', { api_key: '' })).status, 403)
  assert.equal((await put('SECRET', user.masterToken)).status, 400)
})

test('a table counts as public if anyone can read any of it: a column, or a partition by itself', async (t) => {
  const { user } = await setup(t)
  const { publicRole } = user.account
  await ask(
    user,
    `create schema aside; grant usage on schema aside to public;
     create table open (a int, b int); create table named (a int, b int);
     create table whole (id int) partition by list (id);
     create table part partition of whole for values in (1) partition by list (id);
     create table aside.leaf partition of part default;
     grant select (a) on open to public; grant select (a) on named to "${publicRole}";
     grant select on aside.leaf to public; create table closed (a int)`,
  )
  const read = { open: 'select a from open', named: 'select a from named', whole: 'select * from aside.leaf' }
  assert.deepEqual(await privacies(user), {
    open: 'PUBLIC',
    named: 'PUBLIC',
    whole: 'PUBLIC',
    closed: 'PRIVATE',
  })
  const listed = await ask(user, `select CDB_UserTables('public') as name`)
  assert.deepEqual(
    (listed.body.rows as Json[]).map(({ name }) => name),
    ['named', 'open', 'whole'],
  )
  for (const [name, q] of Object.entries(read)) {
    assert.equal((await ask(user, q, { api_key: '' })).status, 200, q)
    const response = await fetch(`${user.base}/api/v1/viz/${name}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ privacy: 'PRIVATE', api_key: user.masterToken }),
    })
    assert.equal(((await response.json()) as Json).privacy, 'PRIVATE', name)
    assert.equal((await ask(user, q, { api_key: '' })).status, 403, q)
  }
})

async function privacies(user: TestUser): Promise<Json> {
  const { body } = await getJson(withKey(user, '/api/v1/viz?'))
  return Object.fromEntries((body.visualizations as Json[]).map(({ name, privacy }) => [name, privacy]))
}

test('a table is shared and unshared by name, also one granted to PUBLIC', async (t) => {
  const { user, service } = await setup(t)
  const { databases } = service.services
  await ask(user, 'create table "My table" (x int); grant select on "My table" to public')
  const read = () => ask(user, 'select * from "My table"', { api_key: '' })
  assert.equal((await read()).status, 200)
  await unshareTable(databases, user.account, 'My table')
  assert.equal((await read()).status, 403)
  await shareTable(databases, user.account, 'My table')
  assert.equal((await read()).status, 200)
  await assert.rejects(shareTable(databases, user.account, 'nothing'), /Table 'nothing' not found/)
})

test('datasets need the master key or a key with table_metadata', async (t) => {
  const { user } = await setup(t)
  await ask(
    user,
    'create table a (x int); create view b as select 1 as x; create materialized view c as select 1 as x',
  )
  const { status, body } = await getJson(withKey(user, '/api/v4/datasets?'))
  assert.equal(status, 200)
  assert.deepEqual([body.total, body.count], [3, 3])
  assert.deepEqual(
    (body.result as Json[]).map(({ name, type, mode, privacy, cartodbfied }) => [
      name,
      type,
      mode,
      privacy,
      cartodbfied,
    ]),
    [
      ['a', 'table', 'rw', 'private', false],
      ['b', 'view', 'rw', 'private', false],
      ['c', 'matview', 'rw', 'private', false],
    ],
  )
  const page = await getJson(withKey(user, '/api/v4/datasets?per_page=1&page=2&order_direction=desc&'))
  assert.deepEqual(
    (page.body.result as Json[]).map(({ name }) => name),
    ['b'],
  )
  const links = page.body._links as Record<string, { href: string }>
  assert.deepEqual(Object.keys(links), ['first', 'last', 'prev', 'next'])
  for (const { href } of Object.values(links)) assert.ok(!href.includes(user.masterToken), href)
  assert.equal((await getJson(links.next!.href, basic(user.username, user.masterToken))).status, 200)
  assert.equal((await getJson(`${user.base}/api/v4/datasets`)).status, 403)
  assert.equal((await getJson(withKey(user, '/api/v4/datasets?', 'wrong'))).status, 401)
  assert.equal((await getJson(withKey(user, '/api/v4/datasets?order=size&'))).status, 400)
})

test('a regular key sees the tables it was granted; with table_metadata it sees all', async (t) => {
  const { user } = await setup(t)
  await ask(user, 'create table mine (x int); create table other (x int)')
  const createKey = async (database: Json) => {
    const response = await fetch(`${user.base}/api/v3/api_keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...basic(user.username, user.masterToken) },
      body: JSON.stringify({
        name: `key ${Object.keys(database)}`,
        grants: [
          { type: 'apis', apis: ['sql'] },
          { type: 'database', ...database },
        ],
      }),
    })
    return ((await response.json()) as { token: string }).token
  }
  const narrow = await createKey({ tables: [{ schema: 'public', name: 'mine', permissions: ['select'] }] })
  const listed = await getJson(withKey(user, '/api/v1/viz?', narrow))
  assert.deepEqual(
    (listed.body.visualizations as Json[]).map(({ name }) => name),
    ['mine'],
  )
  assert.equal((await getJson(withKey(user, '/api/v4/datasets?', narrow))).status, 403)
  const informed = await createKey({ table_metadata: [] })
  const { body } = await getJson(withKey(user, '/api/v4/datasets?', informed))
  assert.deepEqual(
    (body.result as Json[]).map(({ name, mode }) => [name, mode]),
    [
      ['mine', 'r'],
      ['other', 'r'],
    ],
  )
})
