import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, randomName, type Setup, setup } from '../support/service/setup.ts'

test('POST /admin/v1/users answers 201 with the master key, and the key works', async (t) => {
  const house = await setup(t)
  const username = randomName('made')
  const created = await call(house, 'POST', '/users', { username, quota_in_bytes: 1_000_000 })
  assert.equal(created.status, 201)
  assert.equal(created.body.username, username)
  assert.equal(created.body.organization, null)
  assert.equal(created.body.quota_in_bytes, 1_000_000)
  assert.match(created.body.api_key, /^cartage_/)
  const read = await call(house, 'GET', `/users/${username}`)
  assert.equal(read.status, 200)
  assert.equal(read.body.username, username)
  assert.equal(read.body.api_key, undefined)
  const deleted = await call(house, 'DELETE', `/users/${username}`)
  assert.equal(deleted.status, 200)
  assert.equal((await call(house, 'GET', `/users/${username}`)).status, 404)
})

test('a user may be created with a given master key', async (t) => {
  const house = await setup(t)
  const username = randomName('moved')
  const created = await call(house, 'POST', '/users', { username, api_key: 'brought-from-elsewhere-0001' })
  assert.equal(created.body.api_key, 'brought-from-elsewhere-0001')
  const again = await call(house, 'POST', '/users', {
    username: randomName('moved'),
    api_key: 'brought-from-elsewhere-0001',
  })
  assert.equal(again.status, 422)
  await call(house, 'DELETE', `/users/${username}`)
})

test('of two users created concurrently with the same master key one is refused', async (t) => {
  const house = await setup(t)
  const api_key = `brought-by-both-${randomName('key')}`
  const names = [randomName('moved'), randomName('moved')]
  const both = await Promise.all(
    names.map((username) => call(house, 'POST', '/users', { username, api_key })),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 422])
  const left = await Promise.all(names.map((username) => call(house, 'DELETE', `/users/${username}`)))
  assert.deepEqual(left.map(({ status }) => status).sort(), [200, 404])
})

test('the operator can read a master key and replace it; both are audited and never cached', async (t) => {
  const house = await setup(t)
  const { username, masterToken, base } = house.user
  const statusWith = async (token: string) =>
    (await fetch(`${base}/api/v2/sql?q=select+1&api_key=${token}`)).status
  const shown = await call(house, 'GET', `/users/${username}/key`)
  assert.deepEqual([shown.status, shown.body], [200, { username, api_key: masterToken }])
  assert.equal(shown.headers.get('cache-control'), 'no-store')
  const fresh = await call(house, 'POST', `/users/${username}/key/regenerate`)
  assert.equal(fresh.status, 200)
  assert.equal(fresh.headers.get('cache-control'), 'no-store')
  assert.equal(await statusWith(masterToken), 401)
  assert.equal(await statusWith(fresh.body.api_key), 200)
  const { rows } = await house.service.services.databases.control.query(
    `select actor, action, subject from cartage.audit
     where account = $1 and subject is not null and action <> 'key.used' order by id desc limit 2`,
    [username],
  )
  assert.deepEqual(rows, [
    { actor: 'operator', action: 'key.regenerated', subject: 'Master' },
    { actor: 'operator', action: 'key.shown', subject: 'Master' },
  ])
  assert.equal((await call(house, 'GET', '/users/nobody-there/key')).status, 404)
  assert.equal((await call(house, 'POST', '/users/nobody-there/key/regenerate')).status, 404)
})

test('deleting a user leaves nothing in pg_roles or pg_database, also with open sessions', async (t) => {
  const house = await setup(t)
  const user = await house.createUser()
  const sleeping = user.sql('select pg_sleep(60)').catch((error) => error.code)
  await user.sql('create table t (id int)')
  const deleted = await call(house, 'DELETE', `/users/${user.username}`)
  assert.equal(deleted.status, 200)
  assert.match(await sleeping, /57P01|08/)
  const left = await house.admin(
    'select rolname as name from pg_roles where rolname like $1 union all select datname from pg_database where datname like $1',
    [`${user.account.masterRole}%`],
  )
  assert.deepEqual(left.rows, [])
})

test('an organization has one database, and each member a schema named after the username', async (t) => {
  const house = await setup(t)
  const { name, owner } = await house.createOrganization()
  const member = await house.createUser({ organization: name })
  assert.equal(member.account.database, owner.account.database)
  const { rows } = await member
    .sql('create table here (id int); select current_schema() as schema')
    .then((results) => (results as unknown as { rows: { schema: string }[] }[])[1]!)
  assert.equal(rows[0]!.schema, member.username)
  await assert.rejects(owner.sql(`select * from "${member.username}".here`), /permission denied/)
  const listed = await call(house, 'GET', '/organizations')
  assert.ok(listed.body.organizations.some((each: { name: string }) => each.name === name))
})

test('deleting a member removes its schema and roles and changes no other member', async (t) => {
  const house = await setup(t)
  const { name, owner } = await house.createOrganization()
  const member = await house.createUser({ organization: name })
  await member.sql('create table t (id int)')
  await owner.sql('create table kept (id int)')
  assert.equal((await call(house, 'DELETE', `/users/${member.username}`)).status, 200)
  const { rows } = await owner.sql('select nspname from pg_namespace where nspname = any($1)', [
    [member.username, owner.username],
  ])
  assert.deepEqual(rows, [{ nspname: owner.username }])
  const roles = await house.admin('select from pg_roles where rolname like $1', [
    `${member.account.masterRole}%`,
  ])
  assert.equal(roles.rowCount, 0)
})

test('an organization that still has members besides its owner cannot be deleted: 409', async (t) => {
  const house = await setup(t)
  const { name, owner } = await house.createOrganization()
  const member = await house.createUser({ organization: name })
  assert.equal((await call(house, 'DELETE', `/organizations/${name}`)).status, 409)
  assert.equal((await call(house, 'DELETE', `/users/${owner.username}`)).status, 409)
  await call(house, 'DELETE', `/users/${member.username}`)
  assert.equal((await call(house, 'DELETE', `/organizations/${name}`)).status, 200)
  assert.equal((await call(house, 'GET', `/organizations/${name}`)).status, 404)
  assert.equal((await call(house, 'GET', `/users/${owner.username}`)).status, 404)
})

test('a taken name is 409: of a user or an organization, for a user or an organization', async (t) => {
  const house = await setup(t)
  const { name, owner } = await house.createOrganization()
  for (const username of [house.user.username, name, owner.username]) {
    assert.equal((await call(house, 'POST', '/users', { username })).status, 409, username)
    const organization = { name: username, owner: { username: randomName('nobody') } }
    assert.equal((await call(house, 'POST', '/organizations', organization)).status, 409, username)
  }
})

test('of two concurrent creations of one name one is 201 and one is 409', async (t) => {
  const house = await setup(t)
  const username = randomName('twin')
  const both = await Promise.all([1, 2].map(() => call(house, 'POST', '/users', { username })))
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409])
  await call(house, 'DELETE', `/users/${username}`)
})

test('names with invalid characters are refused with a reason', async (t) => {
  const house = await setup(t)
  const odd = [
    '',
    'Alice',
    'a b',
    'é',
    '-a',
    'a_b',
    'a'.repeat(64),
    'postgres',
    'pg-x',
    'information-schema',
    '../x',
    7,
    null,
    {},
  ]
  for (const username of odd) {
    const { status, body } = await call(house, 'POST', '/users', { username })
    assert.equal(status, 422, JSON.stringify(username))
    assert.ok(body.error[0].length > 10)
  }
})

test('an unknown member of a body is named in the error', async (t) => {
  const house = await setup(t)
  const told = async (method: string, path: string, body: object) => {
    const { status, body: answer } = await call(house, method, path, body)
    assert.equal(status, 422)
    return (answer as unknown as { error: string[] }).error[0]
  }
  const path = `/users/${house.user.username}`
  assert.equal(await told('PATCH', path, { quota: 5 }), 'body has an unknown member: quota')
  assert.equal(await told('POST', '/users', { username: 'x', qta: 5 }), 'body has an unknown member: qta')
  const owner = { username: 'x', quota: 5 }
  const place = 'body/owner has an unknown member: quota'
  assert.equal(await told('POST', '/organizations', { name: 'y', owner }), place)
})

test('bad values are 422, and nothing is half created', async (t) => {
  const house = await setup(t)
  const before = await databases(house)
  const username = randomName('bad')
  const bad = [
    { username, quota_in_bytes: -1 },
    { username, quota_in_bytes: 1.5 },
    { username, quota_in_bytes: '5' },
    { username, organization: 'no-such-organization' },
    { username, organization: 5 },
    { username, org_admin: true },
    { username, api_key: 'short' },
    { username, api_key: 'default_public' },
    { username, surprise: true },
    {},
    [],
    'text',
    null,
  ]
  for (const body of bad)
    assert.equal((await call(house, 'POST', '/users', body)).status, 422, JSON.stringify(body))
  assert.equal(
    (await call(house, 'POST', '/organizations', { name: randomName('o'), owner: 'x' })).status,
    422,
  )
  assert.equal(
    (await call(house, 'POST', '/organizations', { name: username, owner: { username } })).status,
    422,
  )
  assert.deepEqual(await databases(house), before)
  assert.equal((await call(house, 'GET', `/users/${username}`)).status, 404)
})

test('broken JSON is 400, a body that is too large 413, an unknown type 415', async (t) => {
  const house = await setup(t)
  const send = (body: string | Buffer, type = 'application/json') =>
    fetch(`${house.url}/admin/v1/users`, {
      method: 'POST',
      headers: { ...bearer(house), 'content-type': type },
      body,
    })
  assert.equal((await send('{"username":')).status, 400)
  assert.equal((await send(Buffer.from([0x22, 0xff, 0x22]))).status, 400)
  assert.equal((await send('{"__proto__":{"username":"x"}}')).status, 400)
  assert.equal((await send(`"${'x'.repeat(1024 ** 2 + 10)}"`)).status, 413)
  assert.equal((await send('x', 'text/plain')).status, 415)
})

test('PATCH changes quota, key quota and organization role; the tenant database gets the quota', async (t) => {
  const house = await setup(t)
  const changed = await call(house, 'PATCH', `/users/${house.user.username}`, {
    quota_in_bytes: 5_000,
    api_key_quota: 3,
  })
  assert.equal(changed.status, 200)
  assert.equal(changed.body.quota_in_bytes, 5_000)
  assert.equal(changed.body.api_key_quota, 3)
  const { rows } = await house.admin(
    'select quota_in_bytes from cartage.accounts',
    [],
    house.user.account.database,
  )
  assert.equal(Number(rows[0].quota_in_bytes), 5_000)
  assert.equal((await call(house, 'PATCH', `/users/${house.user.username}`, { org_admin: true })).status, 422)
  assert.equal((await call(house, 'PATCH', '/users/nobody-here', { quota_in_bytes: 1 })).status, 404)
})

test('after concurrent changes of a quota, control and tenant database have the same one', async (t) => {
  const house = await setup(t)
  const { username, account } = house.user
  for (let round = 0; round < 3; round += 1) {
    const quotas = Array.from({ length: 12 }, (_, place) => 1_000 * (place + 1) + round)
    const changes = quotas.map((quota) =>
      call(house, 'PATCH', `/users/${username}`, { quota_in_bytes: quota }),
    )
    for (const { status } of await Promise.all(changes)) assert.equal(status, 200)
    const told = await call(house, 'GET', `/users/${username}`)
    const { rows } = await house.admin('select quota_in_bytes from cartage.accounts', [], account.database)
    assert.equal(Number(rows[0].quota_in_bytes), told.body.quota_in_bytes)
  }
})

test('a user that is deleted while it is changed is 404', async (t) => {
  const house = await setup(t, { isIsolated: true })
  const { username, account } = await house.createUser()
  const holder = await house.service.services.databases.control.connect()
  try {
    await holder.query('begin')
    await holder.query('select from cartage.users where id = $1 for update', [account.userId])
    const waiting = async (count: number) => {
      const { rowCount } = await house.admin(
        `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'
           and query like '%update cartage.users set%'`,
        [house.service.services.config.namespace],
      )
      assert.equal(rowCount, count)
    }
    const deleted = call(house, 'DELETE', `/users/${username}`)
    await eventually(() => waiting(1))
    const changed = call(house, 'PATCH', `/users/${username}`, { quota_in_bytes: 1_000 })
    await eventually(() => waiting(2))
    await holder.query('commit')
    assert.deepEqual([(await deleted).status, (await changed).status], [200, 404])
  } finally {
    holder.release(true)
  }
})

test('a wrong or missing admin token is 401', async (t) => {
  const house = await setup(t)
  for (const authorization of [undefined, 'Bearer wrong', `Basic ${house.keys.adminToken}`, 'Bearer ']) {
    const response = await fetch(
      `${house.url}/admin/v1/users`,
      authorization ? { headers: { authorization } } : {},
    )
    assert.equal(response.status, 401)
  }
})

test('there is no CORS on /admin', async (t) => {
  const house = await setup(t)
  const response = await fetch(`${house.url}/admin/v1/users`, {
    headers: { ...bearer(house), origin: 'https://elsewhere.example' },
  })
  assert.equal(response.headers.get('access-control-allow-origin'), null)
})

const bearer = (house: Setup) => ({ authorization: `Bearer ${house.keys.adminToken}` })

async function call(
  house: Setup,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; headers: Headers; body: any }> {
  const response = await fetch(`${house.url}/admin/v1${path}`, {
    method,
    headers: { ...bearer(house), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

async function databases(house: Setup): Promise<unknown[]> {
  const { rows } = await house.service.services.databases.control.query(
    'select name from cartage.account_names order by 1',
  )
  return rows.filter(({ name }) => name.startsWith('bad-'))
}
