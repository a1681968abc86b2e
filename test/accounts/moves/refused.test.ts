import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CartageError } from '../../../src/client/cartage-error.ts'
import { createClient } from '../../../src/client/client.ts'
import { admin, isError, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'
import { eventually, setup } from '../../support/service/setup.ts'

test('an impossible move is refused with the reason', async (t) => {
  const { service } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  await newUser(service, 'alice')
  const refused = (username: string, host: string) =>
    operator.users.move(username, host).then(
      () => 'moved',
      (error: CartageError) => `${error.status} ${error.code} ${error.message}`,
    )
  assert.match(await refused('nobody', 'second'), /^404 account-not-found/)
  assert.match(await refused('alice', 'third'), /^422 host-invalid There is no host 'third'/)
  assert.match(await refused('alice', 'local'), /^422 host-invalid .* is on the host 'local' already/)
  await operator.hosts.change('second', { accepts_users: false })
  assert.match(await refused('alice', 'second'), /^422 host-invalid .* takes no new users/)
  await operator.hosts.change('second', { accepts_users: true })
  await operator.organizations.create({ name: 'acme', owner: { username: 'boss' } })
  assert.match(await refused('boss', 'second'), /^422 account-invalid .* organization 'acme'/)
  await assert.rejects(operator.moves.read(12345), isError(404))
  assert.deepEqual(await operator.moves.list(), [])
})

test('a host closed to new users gets none, not even the first', async (t) => {
  const { service } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  assert.equal((await operator.hosts.change('local', { accepts_users: false })).accepts_users, false)
  for (const username of ['alice', 'bob']) await operator.users.create({ username })
  await operator.organizations.create({ name: 'acme', owner: { username: 'boss' } })
  const counted = async () => (await operator.hosts.list()).map(({ name, databases }) => [name, databases])
  assert.deepEqual(await counted(), [
    ['local', 0],
    ['second', 3],
  ])
  await operator.hosts.change('second', { accepts_users: false })
  await assert.rejects(operator.users.create({ username: 'carol' }), /takes new users/)
  await assert.rejects(operator.hosts.change('third', { accepts_users: false }), isError(422))
})

test('a user that is being moved is answered 503 with Retry-After and cannot be changed', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const { api_key: token } = await operator.users.create({ username: 'alice' })
  const alice = createClient({ baseUrl: service.url, username: 'alice', token, retries: 0 })
  await alice.sql('create table t as select generate_series(1, 10) as n')
  const { id } = await operator.users.move('alice', 'second')
  const second = await operator.users.move('alice', 'second').then(
    () => 0,
    (error: CartageError) => error.status,
  )
  assert.equal(second, 409)
  const seen = new Set<string>()
  await eventually(async () => {
    const status = await fetch(`${service.url}/user/alice/api/v2/sql?q=select+1&api_key=${token}`)
    const text = await status.text()
    if (status.status === 503) {
      seen.add(JSON.parse(text).code)
      assert.ok(Number(status.headers.get('retry-after')) > 0)
    }
    assert.ok((await operator.moves.read(id)).ended_at)
  }, 90_000)
  assert.deepEqual([...seen], ['account-moving'])
  assert.equal((await operator.moves.read(id)).phase, 'done')
  assert.deepEqual(await leftOn(installation.keys.adminUrl, installation.config.namespace), [])
  assert.ok((await leftOn(cluster.url, installation.config.namespace)).length > 0)
})

test('a failed move leaves the user where it was and says why', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  // A function that finds its table by the search path fails during a copy, where names must be qualified.
  await alice.sql(`
    create table limits (most int); insert into limits values (100);
    create function fits(n int) returns boolean language plpgsql as $$ begin return n <= (select most from limits); end $$;
    create table t (n int check (fits(n))); insert into t values (1)`)
  const move = await untilEnded(operator, (await operator.users.move('alice', 'second')).id)
  assert.equal(move.phase, 'failed')
  assert.match(move.error ?? '', /limits/)
  assert.deepEqual((await alice.sql('select * from t')).rows, [{ n: 1 }])
  await alice.sql('insert into t values (2)')
  assert.deepEqual(await leftOn(cluster.url, installation.config.namespace), [])
})

test('a move is refused if the target host has something of the same name, which stays', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  const name = `${installation.config.namespace}_u1`
  await runSql({ connectionString: cluster.url }, `create database "${name}"`)
  const move = await untilEnded(operator, (await operator.users.move('alice', 'second')).id)
  assert.deepEqual([move.phase, move.stopped_at], ['failed', null])
  assert.match(move.error ?? '', /has a role or database/)
  assert.deepEqual(await leftOn(cluster.url, installation.config.namespace), [name])
  assert.deepEqual((await alice.sql('select 1 as n')).rows, [{ n: 1 }])
})

test('a change that waits while a move of its user begins is refused like a later one', async (t) => {
  const { service, user, keys } = await setup(t)
  const { control } = service.services.databases
  const { username, masterToken } = user
  const ask = (path: string, token: string, method: string, json: object) =>
    fetch(`${service.url}${path}`, {
      method,
      headers: { authorization: token, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    }).then(async (answer) => [answer.status, ((await answer.json()) as { code?: string }).code])
  const operator = (path: string, method: string, json: object) =>
    ask(`/admin/v1/users/${username}${path}`, `Bearer ${keys.adminToken}`, method, json)
  const own = `Basic ${Buffer.from(`${username}:${masterToken}`).toString('base64')}`
  const key = { name: 'late', grants: [{ type: 'apis', apis: ['sql'] }] }
  /** The answer to a request that found the user not moving, then waited for its row until the move began. */
  const overtaken = async (request: () => Promise<unknown>) => {
    const mover = await control.connect()
    try {
      await mover.query('begin')
      const { rows } = await mover.query(
        'select pg_backend_pid() as pid from cartage.users where username = $1 for update',
        [username],
      )
      const answer = request()
      await eventually(async () => {
        const waiting = await control.query(
          'select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))',
          [rows[0].pid],
        )
        assert.ok((waiting.rowCount ?? 0) > 0)
      })
      await mover.query(setMoving(true), [username])
      await mover.query('commit')
      return await answer
    } finally {
      await mover.query('rollback')
      mover.release()
      await control.query(setMoving(false), [username])
    }
  }
  const cases = [
    [() => ask(`/user/${username}/api/v4/keys`, own, 'POST', key), [503, 'account-moving']],
    [() => operator('', 'PATCH', { quota_in_bytes: 1 }), [409, 'account-busy']],
    [() => operator('/suspend', 'POST', { reason: 'late' }), [409, 'account-busy']],
    [() => operator('/key/regenerate', 'POST', {}), [409, 'account-busy']],
  ] as const
  // Repeat if the wait for the lock took too long on a busy machine.
  for (const [request, expected] of cases)
    await eventually(async () => assert.deepEqual(await overtaken(request), expected), 60_000)
})

const setMoving = (isMoving: boolean) => `update cartage.users set is_moving = ${isMoving},
  suspended_at = ${isMoving ? 'now()' : 'null'}, suspended_reason = ${isMoving ? "'moves'" : 'null'} where username = $1`
