import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KeyUses } from '../../src/auth/key-uses.ts'
import { createAdminClient } from '../../src/client/client.ts'
import type { FullKeyDocument, FullKeyList } from '../../src/contract/documents.ts'
import { createLog } from '../../src/log/log.ts'
import { inTransaction } from '../../src/postgres/transaction.ts'
import { startService } from '../../src/service/service.ts'
import { cartage, connection, installation } from '../support/http/call.ts'
import { openSession } from '../support/http/session-socket.ts'
import { grantsOf, keysClient, send } from '../support/keys/keys-client.ts'
import { askMapTile, mapOf } from '../support/maps/map-api.ts'
import { makeMap, places, templateOf } from '../support/maps/named-api.ts'
import { basic, eventually, setup, type TestUser } from '../support/service/setup.ts'
import { askMaps } from '../support/tiles/tile-api.ts'

type Refused = Readonly<{ error: string[]; code: string }>

/** A client of the keys at /api/v4, with the master token. */
function fullKeys({ base, username, masterToken }: TestUser) {
  const headers = basic(username, masterToken)
  const call = async <Body>(method: string, path = '', body?: unknown) => {
    const answer = await send(`${base}/api/v4/keys${path}`, { method, headers, body })
    return { ...answer, body: answer.body as unknown as Body }
  }
  const expect = async <Body>(status: number, answer: Promise<{ status: number; body: Body }>) => {
    const { status: found, body } = await answer
    assert.equal(found, status, JSON.stringify(body))
    return body
  }
  return {
    make: (body: object) => expect(201, call<FullKeyDocument>('POST', '', body)),
    list: () => expect(200, call<FullKeyList>('GET')),
    read: (name: string) => expect(200, call<FullKeyDocument>('GET', `/${name}`)),
    change: (name: string, body: object) => expect(200, call<FullKeyDocument>('PATCH', `/${name}`, body)),
    refusal: (method: string, path: string, body: object, status = 422) =>
      expect(status, call<Refused>(method, path, body)),
  }
}

/** Starts a second service process on the same databases. */
async function twoNodes(t: TestContext) {
  const house = await setup(t)
  const { service, keys, user } = house
  const other = await startService(
    service.services.config,
    keys,
    { http: true, worker: false },
    createLog('error'),
  )
  t.after(() => other.stop())
  const nodes = [user.base, `${other.url}/user/${user.username}`]
  const statuses = (token: string, q: string) =>
    Promise.all(
      nodes.map(async (base) => {
        const answer = await fetch(`${base}/api/v2/sql?${new URLSearchParams({ q, api_key: token })}`)
        await answer.arrayBuffer()
        return answer.status
      }),
    )
  return { ...house, statuses }
}

const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()

test('a key has a description, an expiry and its last use at /api/v4; classic documents keep their shape', async (t) => {
  const { user } = await setup(t)
  const keys = fullKeys(user)
  const expires_at = inMs(3_600_000)
  const made = await keys.make({ name: 'k', grants: grantsOf(), description: 'Of the hall', expires_at })
  assert.deepEqual([made.description, made.expires_at, made.last_used_at], ['Of the hall', expires_at, null])
  assert.match(made.created_at, /^\d{4}-\d\d-\d\dT.*Z$/)
  assert.deepEqual(await keys.read('k'), made)
  const { keys: listed, total } = await keys.list()
  assert.deepEqual([total, listed.map(({ name }) => name)], [3, ['Master', 'Default public', 'k']])
  assert.deepEqual(listed[2], made)
  const classic = (await keysClient(user).read('k')).body
  assert.deepEqual(Object.keys(classic), [
    'name',
    'user',
    'type',
    'token',
    'grants',
    'created_at',
    'updated_at',
  ])
})

test('PATCH changes the grants of a key in every process once it is answered; the token stays', async (t) => {
  const { user, statuses } = await twoNodes(t)
  await user.sql('create table seen (n int); create table written (n serial)')
  const keys = fullKeys(user)
  const { token } = await keys.make({ name: 'k', grants: grantsOf({ seen: ['select'] }, ['public']) })
  const all = (q: string) => statuses(token, q)
  assert.deepEqual(await all('select * from seen'), [200, 200])
  assert.deepEqual(await all('insert into written default values'), [403, 403])
  assert.deepEqual((await all('create table own_table (n int)')).sort(), [200, 400])

  const changed = await keys.change('k', { grants: grantsOf({ written: ['select', 'insert'] }) })
  assert.equal(changed.token, token)
  assert.deepEqual(
    changed.grants
      .flatMap((grant) => (grant.type === 'database' ? (grant.tables ?? []) : []))
      .map(({ name }) => name),
    ['own_table', 'written'],
  )
  assert.deepEqual(await all('select * from seen'), [403, 403])
  assert.deepEqual(await all('insert into written default values'), [200, 200])
  assert.deepEqual(await all('create table another (n int)'), [403, 403])
  // A key keeps the tables it created; a table that is created again gets the new grants, not the old ones.
  assert.deepEqual(await all('select * from own_table'), [200, 200])
  await user.sql('drop table seen, written; create table seen (n int); create table written (n serial)')
  assert.deepEqual(await all('select * from seen'), [403, 403])
  assert.deepEqual(await all('insert into written default values'), [200, 200])

  await keys.change('k', { grants: [{ type: 'apis', apis: ['maps'] }] })
  assert.deepEqual(await all('select 1'), [403, 403])
  await keys.change('k', { grants: grantsOf() })
  assert.deepEqual(await all('select 1'), [200, 200])
  assert.deepEqual(await all('insert into written default values'), [403, 403])
})

test('a refused change changes nothing', async (t) => {
  const { user, statuses } = await twoNodes(t)
  await user.sql('create table seen (n int)')
  const keys = fullKeys(user)
  const made = await keys.make({ name: 'k', grants: grantsOf({ seen: ['select'] }) })
  for (const [body, fault] of [
    [{ grants: grantsOf({ none: ['select'] }), description: 'new' }, /table permissions you have/],
    [{ grants: [] }, /only one apis section/],
    [{ expires_at: 'tomorrow' }, /expires_at must be a time with its zone/],
    [{ expires_at: '2020-01-01T00:00:00Z', description: 'new' }, /expires_at must be in the future/],
    [{ description: 7 }, /description must be a text/],
    [{ name: 'other' }, /name cannot be changed/],
    [{ token: 'mine' }, /token cannot be changed/],
    [{}, /at least one of grants, description, expires_at and read_from/],
  ] as const) {
    const { error, code } = await keys.refusal('PATCH', '/k', body)
    assert.equal(code, 'key-invalid')
    assert.match(error[0]!, fault)
  }
  for (const name of ['Master', 'Default%20public']) {
    await keys.refusal('PATCH', `/${name}`, { expires_at: inMs(60_000) })
    await keys.refusal('PATCH', `/${name}`, { grants: grantsOf() })
  }
  await keys.refusal('PATCH', '/none', { description: 'x' }, 404)
  await keys.refusal('POST', '', { name: 'late', grants: grantsOf(), expires_at: '2020-01-01T00:00:00Z' })
  assert.deepEqual(await keys.read('k'), made)
  assert.deepEqual(await statuses(made.token, 'select * from seen'), [200, 200])
  const described = await keys.change('Master', { description: 'Of the team' })
  assert.equal(described.description, 'Of the team')
})

test('an expired key is refused like a deleted one within a second, in every process, until its expiry is changed', async (t) => {
  const { user, statuses } = await twoNodes(t)
  const keys = fullKeys(user)
  const expiresAt = Date.now() + 3_000
  const expires_at = new Date(expiresAt).toISOString()
  const { token } = await keys.make({ name: 'k', grants: grantsOf(), expires_at })
  const session = await openSession(t, user, { token })
  await session.run('select 1')
  const made = await send(`${user.base}/api/v4/exports`, {
    method: 'POST',
    headers: basic(user.username, token),
    body: { q: 'select 1 as n' },
  })
  const link = String(made.body.url)
  assert.deepEqual(await statuses(token, 'select 1'), [200, 200])
  const refusedAt = await eventually(async () => {
    assert.deepEqual(await statuses(token, 'select 1'), [401, 401])
    return Date.now()
  })
  assert.ok(refusedAt > expiresAt - 100 && refusedAt < expiresAt + 1_000, String(refusedAt - expiresAt))
  assert.match((await session.until('lost')).error[0]!, /its key was deleted, has a new token, has expired/)
  assert.equal((await fetch(link)).status, 404)
  assert.deepEqual(await statuses(user.masterToken, 'select 1'), [200, 200])
  await keys.change('k', { expires_at: null })
  assert.deepEqual(await statuses(token, 'select 1'), [200, 200])
  assert.equal((await fetch(link)).status, 200)
})

test('an earlier expiry applies in every process once it is answered', async (t) => {
  const { user, statuses } = await twoNodes(t)
  const keys = fullKeys(user)
  const { token } = await keys.make({ name: 'k', grants: grantsOf() })
  assert.deepEqual(await statuses(token, 'select 1'), [200, 200])
  const expiresAt = Date.now() + 1_500
  await keys.change('k', { expires_at: new Date(expiresAt).toISOString() })
  await eventually(async () => assert.deepEqual(await statuses(token, 'select 1'), [401, 401]))
  assert.ok(Date.now() < expiresAt + 1_000)
})

test('an open session ends at the current expiry of its key', async (t) => {
  const { user } = await setup(t)
  const keys = fullKeys(user)
  const opened = async (name: string, expires_at: string | null) => {
    const { token } = await keys.make({ name, grants: grantsOf(), expires_at })
    const session = await openSession(t, user, { token })
    await session.run('select 1')
    return session
  }
  const extendedFrom = Date.now() + 3_000
  const extended = await opened('extended', new Date(extendedFrom).toISOString())
  const shortened = await opened('shortened', null)
  await keys.change('extended', { expires_at: null })
  const expiresAt = Date.now() + 2_500
  await keys.change('shortened', { expires_at: new Date(expiresAt).toISOString() })
  // The session is renewed each second, so also just before the key expires.
  assert.match((await shortened.until('lost')).error[0]!, /has expired/)
  const lostAt = Date.now()
  assert.ok(lostAt > expiresAt - 100 && lostAt < expiresAt + 2_000, String(lostAt - expiresAt))
  await eventually(() => assert.ok(Date.now() > extendedFrom + 100))
  assert.deepEqual((await extended.run('select 1 as n')).rows, [{ n: 1 }])
})

test('removing an API from a key stops its sessions, links and named maps until the API is added again', async (t) => {
  const { user } = await setup(t)
  await user.sql(places)
  const keys = fullKeys(user)
  const apis = (...apis: string[]) => [{ type: 'apis', apis }, grantsOf({ places: ['select'] })[1]]
  const { token } = await keys.make({ name: 'k', grants: apis('sql', 'maps') })
  const session = await openSession(t, user, { token })
  await session.run('select 1')
  const made = await send(`${user.base}/api/v4/exports`, {
    method: 'POST',
    headers: basic(user.username, token),
    body: { q: 'select 1 as n' },
  })
  await makeMap(user, templateOf('shown', undefined), { token })
  const named = { layers: [{ type: 'named', options: { name: 'shown' } }] }
  const around = await mapOf(user, named, { token: '' })
  const opened = await askMaps(user, '/api/v1/map/named/shown', { token: '', body: {} })
  const statuses = async () => {
    const answers = [
      await fetch(String(made.body.url)),
      await askMaps(user, '/api/v1/map/named/shown', { token: '', body: {} }),
      await askMapTile(user, String(opened.body.layergroupid), '/0/0/0.mvt', { token: '' }),
      await askMapTile(user, around.layergroupid, '/0/0/0.mvt', { token: '' }),
    ]
    return answers.map(({ status }) => status)
  }
  assert.deepEqual(await statuses(), [200, 200, 200, 200])
  await keys.change('k', { grants: apis('sql') })
  assert.deepEqual(await statuses(), [200, 403, 403, 403])
  assert.deepEqual((await session.run('select 1 as n')).rows, [{ n: 1 }])
  await keys.change('k', { grants: apis('maps') })
  assert.deepEqual(await statuses(), [404, 200, 200, 200])
  assert.match((await session.until('lost')).error[0]!, /may no longer use SQL/)
  await keys.change('k', { grants: apis('sql', 'maps') })
  assert.deepEqual(await statuses(), [200, 200, 200, 200])
})

test('the last use of a key is shown within seconds and stored at most once in five minutes', async (t) => {
  const { user, service } = await setup(t)
  const keys = fullKeys(user)
  const { token } = await keys.make({ name: 'k', grants: grantsOf() })
  assert.equal((await keys.read('k')).last_used_at, null)
  const before = Date.now()
  assert.equal((await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${token}`)).status, 200)
  const used = await eventually(async () => {
    const { last_used_at } = await keys.read('k')
    assert.ok(last_used_at)
    return Date.parse(last_used_at)
  })
  assert.ok(Math.abs(used - before) < 10_000)

  const { control } = service.services.databases
  const { rows } = await control.query<{ id: number }>(
    `select id from cartage.api_keys where user_id = $1 and name = 'k'`,
    [user.account.userId],
  )
  const { id } = rows[0]!
  const uses = new KeyUses(control, createLog('error'))
  const stored = async () => (await keys.read('k')).last_used_at
  uses.note(id)
  await uses.flush()
  const first = await stored()
  for (let count = 0; count < 3; count += 1) {
    uses.note(id)
    await uses.flush()
    assert.equal(await stored(), first)
  }
  await uses.stop()
  assert.ok(Date.parse((await stored())!) > Date.parse(first!))
  uses.note(2 ** 31 - 1)
  await uses.stop()
})

test('a use that cannot be stored is stored later; a deleted key does not fail the batch', async (t) => {
  const { user, service } = await setup(t, { isIsolated: true })
  const keys = fullKeys(user)
  const { control } = service.services.databases
  const idOf = async (name: string) => {
    await keys.make({ name, grants: grantsOf() })
    const { rows } = await control.query<{ id: number }>(
      'select id from cartage.api_keys where user_id = $1 and name = $2',
      [user.account.userId, name],
    )
    return rows[0]!.id
  }
  const [kept, deleted] = [await idOf('kept'), await idOf('deleted')]
  const uses = new KeyUses(control, createLog('silent'))
  await control.query('alter table cartage.key_uses rename to unreachable')
  uses.note(kept)
  await uses.flush()
  await control.query('alter table cartage.unreachable rename to key_uses')
  await uses.flush()
  assert.ok((await keys.read('kept')).last_used_at)

  uses.note(deleted)
  await inTransaction(control, async (tx) => {
    await tx.query('delete from cartage.api_keys where id = $1', [deleted])
    await uses.flush()
  })
  const orphans = async () =>
    (await control.query('select from cartage.key_uses where key_id = $1', [deleted])).rowCount
  assert.equal(await orphans(), 1)
  await uses.clean()
  assert.equal(await orphans(), 0)
  assert.ok((await keys.read('kept')).last_used_at)
})

test('the operator lists the keys of a user, without tokens', async (t) => {
  const house = await setup(t)
  const { user, url } = house
  const expires_at = inMs(3_600_000)
  const { token } = await fullKeys(user).make({ name: 'k', grants: grantsOf(), expires_at })
  const operator = createAdminClient({ baseUrl: url, token: house.keys.adminToken! })
  t.after(() => operator.close())
  const answer = await operator.users.keys(user.username)
  assert.deepEqual(
    answer.keys.map(({ name }) => name),
    ['Master', 'Default public', 'k'],
  )
  assert.equal(answer.keys[2]!.expires_at, expires_at)
  const told = JSON.stringify(answer)
  assert.ok(!told.includes(token) && !told.includes(user.masterToken))
  await assert.rejects(operator.users.keys('nobody-there'), { status: 404 })
  const { code, out, err } = await cartage(installation(house), 'user', 'keys', user.username)
  assert.equal(code, 0, err)
  assert.match(out, new RegExp(`^k \\(regular\\), last used never, expires ${expires_at}$`, 'm'))
  assert.ok(!out.includes(token))
})

test('`cartage key create` and `key set` take a description and an expiry', async (t) => {
  const house = await setup(t)
  await house.user.sql('create table seen (n int)')
  const me = connection(house)
  const run = async (...args: string[]) => {
    const { code, out, err } = await cartage(me, 'key', ...args, '--json')
    assert.equal(code, 0, err)
    return JSON.parse(out)
  }
  const expires = '2099-01-31T10:00:00.000Z'
  const made = await run('create', 'k', '--description', 'one', '--expires', expires)
  assert.deepEqual([made.description, made.expires_at], ['one', expires])
  const changed = await run('set', 'k', '--read', 'seen', '--expires', 'never')
  assert.deepEqual([changed.description, changed.expires_at], ['one', null])
  assert.match(JSON.stringify(changed.grants), /"name":"seen"/)
  const [, , listed] = await run('list')
  assert.deepEqual([listed.name, listed.last_used_at], ['k', null])
  const nothing = await cartage(me, 'key', 'set', 'k')
  assert.match(nothing.err, /give at least one thing to change/)
})
