import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grantsOf, keyRolesOf, keysClient, roleOf, send, tablesOf } from '../support/keys/keys-client.ts'
import { setup } from '../support/service/setup.ts'

test('a new user has a master and a default key', async (t) => {
  const { user } = await setup(t)
  const { body } = await keysClient(user).list()
  const [master, everyone] = body.result as Record<string, unknown>[]
  assert.equal(body.total, 2)
  assert.deepEqual(
    { name: master!.name, type: master!.type, token: master!.token, user: master!.user },
    { name: 'Master', type: 'master', token: user.masterToken, user: { username: user.username } },
  )
  assert.deepEqual(master!.grants, [
    { type: 'apis', apis: ['sql', 'maps'] },
    { type: 'database', tables: [], schemas: [{ name: 'public', permissions: ['create'] }] },
    { type: 'dataservices', services: ['geocoding', 'routing', 'isolines', 'observatory'] },
  ])
  assert.deepEqual(
    { name: everyone!.name, type: everyone!.type, token: everyone!.token },
    { name: 'Default public', type: 'default', token: 'default_public' },
  )
  assert.deepEqual(everyone!.grants, [
    { type: 'apis', apis: ['sql', 'maps'] },
    { type: 'database', tables: [], schemas: [] },
  ])
})

test('a created key is answered with the grants that the catalogs have afterwards', async (t) => {
  const { user } = await setup(t)
  // The last two sort differently by bytes (UTF-8) than in JavaScript (UTF-16).
  const names = ['t', 'Z', 'ä', 'a b', '\uff5e', '\u{1f30d}']
  await user.sql(names.map((name) => `create table "${name}" (id serial)`).join('; '))
  await user.sql('create view v as select 1 as one; create materialized view m as select 1 as one')
  const keys = keysClient(user)
  const { status, body: created } = await keys.create('k', [
    { type: 'apis', apis: ['sql', 'maps'] },
    {
      type: 'database',
      tables: [
        ...[...names, 'v'].map((name) => ({ schema: 'public', name, permissions: ['update', 'select'] })),
        { name: 't', permissions: ['insert', 'select'], schema: 'public' },
        { schema: 'public', name: 'm', permissions: [] },
      ],
      schemas: [{ permissions: ['create'], name: 'public' }],
    },
  ])
  assert.equal(status, 201)
  const { body: read } = await keys.read('k')
  assert.equal(JSON.stringify(created), JSON.stringify(read))
  assert.equal(Object.keys(tablesOf(read)).length, 7)
})

test('a created key is answered with 201 and its document', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (id serial primary key)')
  const { status, body } = await keysClient(user).create('k', [
    { type: 'dataservices', services: ['routing'] },
    {
      type: 'database',
      tables: [{ schema: 'public', name: 't', permissions: ['update', 'select', 'delete', 'insert'] }],
      schemas: [{ name: 'public', permissions: ['create'] }],
      table_metadata: [],
    },
    { type: 'apis', apis: ['maps'] },
  ])
  assert.equal(status, 201)
  const { token, created_at, updated_at, ...rest } = body
  assert.match(token, /^cartage_[\w-]{43}[0-9a-f]{8}$/)
  assert.match(created_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000$/)
  assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
  assert.equal(updated_at, created_at)
  assert.deepEqual(rest, {
    name: 'k',
    user: { username: user.username },
    type: 'regular',
    grants: [
      { type: 'apis', apis: ['maps'] },
      {
        type: 'database',
        tables: [
          {
            schema: 'public',
            name: 't',
            owner: false,
            permissions: ['delete', 'insert', 'select', 'update'],
          },
        ],
        schemas: [{ name: 'public', permissions: ['create'] }],
        table_metadata: [],
      },
      { type: 'dataservices', services: ['routing'] },
    ],
  })
})

test('a key without a database section shows an empty one', async (t) => {
  const { user } = await setup(t)
  const { body } = await keysClient(user).create('k', [{ type: 'apis', apis: [] }])
  assert.deepEqual(body.grants, [
    { type: 'apis', apis: [] },
    { type: 'database', tables: [], schemas: [] },
  ])
})

test('a key is read by its name, with any printable characters', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  for (const name of [
    'a/b',
    'v1.2',
    'naïve 鍵 🗝',
    'token/regenerate',
    '%2F',
    '?x=1#y',
    ' spaced ',
    '"quoted"',
    'x'.repeat(255),
    '🗝'.repeat(255),
  ]) {
    const made = await keys.make(name)
    assert.equal(made.name, name)
    assert.deepEqual((await keys.read(name)).body, made)
    assert.equal((await keys.regenerate(name)).body.name, name)
    assert.equal((await keys.remove(name)).body.name, name)
    assert.equal((await keys.read(name)).status, 404)
  }
})

test('an unknown name is 404 on every endpoint of a key', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  for (const answer of [
    await keys.read('no/such'),
    await keys.remove('no/such'),
    await keys.regenerate('no/such'),
  ]) {
    assert.equal(answer.status, 404)
    assert.deepEqual(answer.body, { errors: 'API key not found: no/such', errors_cause: null })
  }
})

test('regenerating gives a new token and changes nothing else', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (id int)')
  const keys = keysClient(user)
  const before = await keys.make('k', grantsOf({ t: ['select'] }))
  const { status, body: after } = await keys.regenerate('k')
  assert.equal(status, 200)
  assert.notEqual(after.token, before.token)
  assert.match(after.token, /^cartage_/)
  assert.ok(after.updated_at >= before.updated_at)
  assert.deepEqual({ ...after, token: '', updated_at: '' }, { ...before, token: '', updated_at: '' })
  assert.deepEqual((await keys.read('k')).body, after)
})

test('the master key can be regenerated; its old token is invalid at once', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  const { status, body } = await keys.regenerate('Master')
  assert.equal(status, 200)
  assert.equal((await keys.list()).status, 401)
  assert.equal((await send(`${user.base}/api/v3/api_keys?api_key=${body.token}`)).status, 200)
})

test('deleting a key answers its last document and leaves neither key nor role', async (t) => {
  const context = await setup(t)
  const { user } = context
  await user.sql('create table t (id int)')
  const keys = keysClient(user)
  const made = await keys.make('k', grantsOf({ t: ['select'] }))
  const role = await roleOf(context, user, 'k')
  const { status, body } = await keys.remove('k')
  assert.equal(status, 200)
  assert.deepEqual(body, made)
  assert.deepEqual((await keys.list('?type=regular')).body.result, [])
  assert.deepEqual(await keyRolesOf(context, user), [])
  const left = await context.admin(
    'select 1 from cartage.roles where role_name = $1 union all select 1 from cartage.grants where role_name = $1',
    [role],
    user.account.database,
  )
  assert.equal(left.rowCount, 0)
})

test('only regular keys can be deleted, and the default key keeps its token', async (t) => {
  const { user } = await setup(t)
  const keys = keysClient(user)
  const refused = [
    await keys.remove('Master'),
    await keys.remove('Default public'),
    await keys.regenerate('Default public'),
  ]
  for (const answer of refused) {
    assert.equal(answer.status, 403)
    assert.deepEqual(answer.body, {
      errors: "You don't have permission to access that resource",
      errors_cause: null,
    })
  }
  assert.equal((await keys.list()).body.total, 2)
})

test('the name of a deleted key can be used again, with a new token and a new role', async (t) => {
  const context = await setup(t)
  const keys = keysClient(context.user)
  const first = await keys.make('k')
  const firstRole = await roleOf(context, context.user, 'k')
  await keys.remove('k')
  const second = await keys.make('k')
  assert.notEqual(second.token, first.token)
  assert.notEqual(await roleOf(context, context.user, 'k'), firstRole)
})

test('a document that was read can be posted again', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (id serial); create view v as select * from t')
  const keys = keysClient(user)
  await keys.make('first', [
    ...grantsOf({ t: ['select', 'insert'], v: ['select'] }, ['public']).slice(0, 1),
    { ...grantsOf({ t: ['select', 'insert'], v: ['select'] }, ['public'])[1], table_metadata: [] },
    { type: 'dataservices', services: ['isolines'] },
  ])
  const listed = ((await keys.list('?type=regular')).body.result as Record<string, unknown>[])[0]!
  const { status, body } = await keys.call('POST', '', { ...listed, name: 'second' })
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual(body.grants, listed.grants)
  assert.notEqual(body.token, listed.token)
  const master = (await keys.read('Master')).body
  const third = await keys.call('POST', '', { ...master, name: 'third' })
  assert.equal(third.status, 201, JSON.stringify(third.body))
  assert.equal(third.body.type, 'regular')
  assert.deepEqual(tablesOf(third.body), tablesOf(master))
})

test('a permission granted twice is granted once', async (t) => {
  const { user } = await setup(t)
  await user.sql('create table t (id int)')
  const { body } = await keysClient(user).create('k', [
    { type: 'apis', apis: ['sql', 'sql'] },
    {
      type: 'database',
      tables: [
        { schema: 'public', name: 't', permissions: ['select', 'select'] },
        { schema: 'public', name: 't', permissions: ['insert'] },
      ],
    },
  ])
  assert.deepEqual(body.grants[0], { type: 'apis', apis: ['sql'] })
  assert.deepEqual(tablesOf(body), { 'public.t': 'insert,select' })
})

test('a user can have as many keys as the operator allows', async (t) => {
  const { user, service } = await setup(t)
  const keys = keysClient(user)
  const limit = (quota: number | null) =>
    service.services.databases.control.query('update cartage.users set api_key_quota = $2 where id = $1', [
      user.account.userId,
      quota,
    ])
  await limit(1)
  await keys.make('one')
  const { status, body } = await keys.create('two', grantsOf())
  assert.equal(status, 403)
  assert.deepEqual(body, {
    errors: 'You have reached the limit of API keys for your plan',
    errors_cause: null,
  })
  await keys.remove('one')
  await keys.make('two')
  await limit(null)
  await keys.make('three')
})

test('both base paths and a trailing slash reach the keys', async (t) => {
  const { user, url } = await setup(t)
  const credential = `api_key=${user.masterToken}`
  for (const path of ['/user', '/u']) {
    for (const end of ['', '/', '/Master', '/Master/']) {
      const answer = await send(`${url}${path}/${user.username}/api/v3/api_keys${end}?${credential}`)
      assert.equal(answer.status, 200, path + end)
    }
  }
})
