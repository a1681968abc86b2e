import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { CartageError } from '../../src/client/cartage-error.ts'
import { type AdminClient, createAdminClient, createClient } from '../../src/client/client.ts'
import type { ActivityStatement } from '../../src/contract/documents.ts'
import { ask } from '../support/http/ask.ts'
import { cartage, installation } from '../support/http/call.ts'
import { openSession } from '../support/http/session-socket.ts'
import { jobApi } from '../support/jobs/job-api.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { keysClient } from '../support/keys/keys-client.ts'
import { copyUrl } from '../support/postgres/copying.ts'
import { untilRunning } from '../support/postgres/running-statement.ts'
import { newInstallation } from '../support/service/installation.ts'
import { startProcess } from '../support/service/processes.ts'
import { eventually, type Setup, setup, type TestUser } from '../support/service/setup.ts'
import { askTiles } from '../support/tiles/tile-api.ts'

test('a running query is shown with its key and text, and its caller gets 409 when the operator stops it', async (t) => {
  const { user, operator, shown } = await house(t)
  const { token } = await keysClient(user).make('reader')
  const sql = 'select pg_sleep(600)'
  const answer = ask(user, sql, { api_key: token })
  const statement = await shown(({ text, waits_for }) => text === sql && waits_for === 'server')
  const { id, since, wait_event, ...rest } = statement
  assert.deepEqual(rest, {
    username: user.username,
    key: 'reader',
    kind: 'query',
    host: 'local',
    waits_for: 'server',
    blocked_by: [],
    text: sql,
    text_is_cut: false,
  })
  assert.equal(wait_event, 'Timeout: PgSleep')
  assert.ok(Math.abs(Date.now() - Date.parse(since)) < 30_000, since)
  assert.deepEqual(await operator.stopActivity(id), {
    stopped: [{ id, username: user.username, kind: 'query', has_ended: true }],
    silent_processes: 0,
  })
  const { status, body } = await answer
  assert.deepEqual(
    [status, body.code, body.error],
    [409, 'statement-cancelled', ['The statement was cancelled by the operator']],
  )
  const [record] = await operator.audit({ account: user.username, action: 'activity.stopped' })
  assert.deepEqual(
    [record!.actor, record!.subject, record!.details],
    ['operator', id, { kind: 'query', key: 'reader' }],
  )
})

test('the master key sees what runs for its account, with each key, and nothing of others', async (t) => {
  const { bundle, user, operator, shown } = await house(t, { config: { queryTimeoutMs: 300_000 } })
  const other = await bundle.createUser()
  const { keys, activity } = clientOf(t, bundle)
  const { token } = await keys.create({ name: 'reader', grants: [{ type: 'apis', apis: ['sql'] }] })
  const theirs = ask(other, 'select pg_sleep(600), 2')
  await eventually(async () => assert.equal((await ofUser(operator, other.username, 'query')).length, 1))
  const sql = 'select pg_sleep(600)'
  const answer = ask(user, sql, { api_key: token })
  const { id } = await shown(({ text, waits_for }) => text === sql && waits_for === 'server')
  const answers = await Promise.all([activity(), activity(), activity()])
  for (const { statements, left_out } of answers) {
    const [{ since, ...rest }] = statements as [(typeof statements)[number]]
    assert.deepEqual(
      [rest, statements.length, left_out],
      [{ id, key: 'reader', kind: 'query', waits_for: 'server', text: sql, text_is_cut: false }, 1, 0],
    )
    assert.ok(Math.abs(Date.now() - Date.parse(since)) < 120_000, since)
  }
  const asked = await fetch(`${user.base}/api/v4/activity?api_key=${token}`)
  assert.equal(asked.status, 403)
  for (const { username } of [user, other]) await operator.users.stopActivity(username)
  await Promise.all([answer, theirs])
  await eventually(async () => assert.deepEqual((await activity()).statements, []))
})

test("owner and admins of an organization see what a member's key runs; members and outsiders do not", async (t) => {
  const { bundle, user: outsider, operator } = await house(t, { config: { queryTimeoutMs: 300_000 } })
  const { name: organization, owner } = await bundle.createOrganization()
  const admin = await bundle.createUser({ organization, isOrgAdmin: true })
  const [member, colleague] = [
    await bundle.createUser({ organization }),
    await bundle.createUser({ organization }),
  ]
  const { token } = await keysClient(member).make('reader')
  const sql = 'select pg_sleep(600)'
  const answer = ask(member, sql, { api_key: token })
  await eventually(async () => assert.equal((await ofUser(operator, member.username, 'query')).length, 1))
  const activityBy = (user: TestUser, token = user.masterToken) =>
    clientOf(t, { url: bundle.url, user }, { token }).activity
  const target = { target_user: member.username }
  for (const allowed of [owner, admin]) {
    const { statements } = await activityBy(allowed)(target)
    assert.deepEqual(
      statements.map(({ key, text }) => [key, text]),
      [['reader', sql]],
    )
    assert.deepEqual((await activityBy(allowed)()).statements, [])
  }
  for (const refused of [colleague, member, outsider])
    await assert.rejects(activityBy(refused)(target), { status: 403, code: 'not-your-resource' })
  const { token: small } = await keysClient(admin).make('small')
  await assert.rejects(activityBy(admin, small)(target), { status: 403, code: 'permission-denied' })
  for (const nobody of [outsider.username, 'nobody', ''])
    await assert.rejects(activityBy(admin)({ target_user: nobody }), {
      status: 404,
      code: 'member-not-found',
    })
  await operator.users.stopActivity(member.username)
  await answer
})

test('a late stop stops nothing, not even the next statement on the connection', async (t) => {
  const { user, operator, shown } = await house(t, { config: { connectionsPerRole: 1 } })
  const first = ask(user, 'select 1, pg_sleep(0.5)')
  const { id } = await shown(({ text }) => text?.includes('select 1') ?? false)
  assert.equal((await first).status, 200)
  const next = ask(user, 'select 2, pg_sleep(1)')
  await shown(({ text }) => text?.includes('select 2') ?? false)
  for (const late of [id, id, 'nothing-1', '8b1cb2b0-0000-4000-8000-000000000000', `%00'"`]) {
    const error = await operator.stopActivity(late).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof CartageError)
    assert.match(error.code ?? '', /^(activity-not-found|bad-request)$/)
  }
  assert.equal((await next).status, 200)
  assert.deepEqual(await operator.audit({ account: user.username, action: 'activity.stopped' }), [])
})

test('a lock is shown with the statement that holds it, also one of an idle transaction', async (t) => {
  const { user, operator, shown } = await house(t)
  await user.sql('create table places (n int)')
  const session = await openSession(t, user)
  await session.run('begin; lock table places')
  const waiting = ask(user, 'select n from places')
  const held = await shown(({ kind }) => kind === 'query')
  await shown(({ id, waits_for }) => id === held.id && waits_for === 'lock')
  const [blocked] = await ofUser(operator, user.username, 'query')
  const [idle] = await ofUser(operator, user.username, 'session')
  assert.deepEqual([idle!.text, idle!.waits_for], [null, 'client'])
  assert.deepEqual([blocked!.wait_event, blocked!.blocked_by], ['Lock: relation', [idle!.id]])
  await operator.stopActivity(idle!.id)
  assert.equal((await waiting).status, 200)
  assert.match((await session.until('lost')).error[0]!, /ended by the operator/)
})

test('a statement that waits for a connection is shown as waiting, and never runs if it is stopped', async (t) => {
  const { user, operator, shown } = await house(t, { config: { connectionsPerRole: 1 } })
  await user.sql('create table places (n int)')
  const first = ask(user, 'select 1, pg_sleep(600)')
  const one = await shown(({ waits_for }) => waits_for === 'server')
  const second = ask(user, 'insert into places values (1)')
  const two = await shown(({ id, waits_for }) => id !== one.id && waits_for === 'connection')
  await operator.stopActivity(two.id)
  assert.equal((await second).body.code, 'statement-cancelled')
  await operator.stopActivity(one.id)
  assert.equal((await first).status, 409)
  assert.deepEqual((await ask(user, 'select n from places')).body.rows, [])
})

test('sessions, copies, tiles and jobs are shown by kind, and all of an account stop at once', async (t) => {
  const { user, operator, shown, bundle } = await house(t, { worker: true })
  const other = await bundle.createUser()
  await user.sql(`create table slow (cartodb_id int primary key, the_geom geometry(Point, 4326));
    insert into slow values (1, st_setsrid(st_point(1, 1), 4326));
    create view slow_view as select s.cartodb_id, s.the_geom, pg_sleep(600)::text as nap from slow s`)
  const jobs = jobApi(user)
  const { job_id } = await jobs.submit('select pg_sleep(600)')
  await untilRunning(bundle, job_id)
  const session = await openSession(t, user)
  const inSession = session.run('select pg_sleep(600)')
  const copy = fetch(copyUrl(user, 'copyto', 'copy (select pg_sleep(600)) to stdout'))
  const tile = askTiles(user, '/slow_view/0/0/0')
  const theirs = ask(other, 'select pg_sleep(1), 7 as n')
  for (const kind of ['job', 'session', 'copy', 'tile'] as const) {
    const one = await shown((each) => each.kind === kind && each.waits_for !== null)
    assert.equal(one.waits_for, 'server', kind)
    assert.equal(one.key, kind === 'job' ? null : 'Master')
    if (kind === 'job') assert.equal(one.id, job_id)
  }
  const { stopped, silent_processes } = await operator.users.stopActivity(user.username)
  assert.deepEqual(stopped.map(({ kind }) => kind).sort(), ['copy', 'job', 'session', 'tile'])
  assert.equal(silent_processes, 0)
  assert.equal((await jobs.read(job_id)).status, 'cancelled')
  assert.equal((await inSession).last.code, 'statement-cancelled')
  assert.equal((await copy).status, 409)
  assert.equal((await tile).status, 409)
  assert.equal((await theirs).status, 200)
  // The session continues.
  assert.equal((await session.run('select 1')).last.type, 'done')
  const records = await operator.audit({ account: user.username, action: 'activity.stopped' })
  assert.equal(records.length, 4)
})

test('SQL is cut at 1,024 characters; reading the whole text is audited', async (t) => {
  const { user, operator, shown } = await house(t)
  const sql = `select pg_sleep(600), '${'é😀'.repeat(1_000)}'`
  const answer = ask(user, sql)
  const cut = await shown(({ text }) => text?.startsWith('select pg_sleep') ?? false)
  assert.equal(cut.text_is_cut, true)
  assert.ok(cut.text!.length <= 1_024 && sql.startsWith(cut.text!), cut.text!)
  assert.deepEqual(await operator.audit({ account: user.username, action: 'activity.read' }), [])
  const { statements } = await operator.activity({ user: user.username, text: 'full' })
  assert.deepEqual([statements[0]!.text, statements[0]!.text_is_cut], [sql, false])
  const records = await operator.audit({ account: user.username, action: 'activity.read' })
  assert.deepEqual(
    records.map(({ actor, details }) => [actor, details]),
    [['operator', { text: 'full' }]],
  )
  await operator.stopActivity(cut.id)
  await answer
})

test('work in other processes is shown and can be stopped; a frozen process is counted, a killed one is forgotten', async (t) => {
  const place = await newInstallation(t)
  const { url, services } = await place.start()
  const created = await createUser(services.installation, { username: 'many' })
  const other = await startProcess(t, place, ['serve', '--no-worker'])
  const client = createClient({ baseUrl: other.url, username: 'many', token: created.masterToken })
  t.after(() => client.close())
  const operator = operatorOf(t, url, place.keys.adminToken)
  const begin = () => client.sql('select pg_sleep(600)').catch((error: unknown) => error)
  const running = () =>
    eventually(async () => {
      const [one] = await ofUser(operator, 'many', 'query')
      assert.ok(one)
      return one
    })
  const first = begin()
  await operator.stopActivity((await running()).id)
  assert.equal(((await first) as CartageError).code, 'statement-cancelled')
  const here = createClient({ baseUrl: url, username: 'many', token: created.masterToken })
  t.after(() => here.close())
  const third = here.sql('select pg_sleep(600)').catch((error: unknown) => error)
  const ended = await running()
  await operator.stopActivity(ended.id)
  await third
  const second = begin()
  const { id } = await running()
  other.pause()
  // The process of the statement has answered.
  await assert.rejects(operator.stopActivity(ended.id), { code: 'activity-not-found' })
  const startedAt = performance.now()
  assert.equal((await operator.activity()).silent_processes, 1)
  assert.ok(performance.now() - startedAt < 10_000)
  const error = await operator.stopActivity(id).catch((thrown: unknown) => thrown)
  assert.equal((error as CartageError).code, 'activity-not-answered')
  // It may have been stopped all the same.
  const [asked] = await operator.audit({ action: 'activity.stop' })
  assert.deepEqual([asked!.actor, asked!.subject], ['operator', id])
  other.resume()
  await eventually(async () => assert.equal((await operator.activity()).silent_processes, 0))
  // The request to stop had expired when the process read it.
  assert.equal((await running()).id, id)
  await other.kill()
  await second
  await eventually(async () => {
    const { statements, silent_processes } = await operator.activity()
    assert.deepEqual([statements, silent_processes], [[], 0])
  })
  await assert.rejects(operator.stopActivity(id), { code: 'activity-not-answered' })
})

test('the command line shows and stops the same', async (t) => {
  const { user, shown, bundle } = await house(t, { config: { queryTimeoutMs: 300_000 } })
  const env = installation(bundle)
  const answer = ask(user, 'select pg_sleep(600),\n  1 as one')
  const { id } = await shown(({ text }) => text?.includes('as one') ?? false)
  const listed = await cartage(env, 'activity', '--user', user.username)
  assert.equal(listed.code, 0, listed.err)
  const [head, text] = listed.out.split('\n')
  assert.ok(head!.startsWith(`${id}  ${user.username}  query  `), head)
  assert.equal(text, '    select pg_sleep(600), 1 as one')
  const full = await cartage(env, 'activity', '--user', user.username, '--full', '--json')
  assert.equal(JSON.parse(full.out).statements[0].text, 'select pg_sleep(600),\n  1 as one')
  const long = ask(user, `select pg_sleep(600), ' ${'😀'.repeat(100)}'`)
  const { id: longId } = await shown((each) => each.text?.includes('😀') ?? false)
  const cut = await cartage(env, 'activity', '--user', user.username)
  assert.match(cut.out, /^ {4}select pg_sleep\(600\), ' 😀+…$/mu)
  const stopped = await cartage(env, 'activity', 'stop', id)
  assert.deepEqual([stopped.code, stopped.out], [0, `stopped ${id} (query)\n`], stopped.err)
  assert.equal((await answer).status, 409)
  const again = await cartage(env, 'activity', 'stop', id)
  assert.deepEqual([again.code, again.out], [1, ''])
  assert.match(again.err, /Nothing runs with the id/)
  assert.equal((await cartage(env, 'activity', 'stop', longId)).code, 0)
  const nothing = await cartage(env, 'activity', 'stop', '--user', user.username)
  assert.deepEqual([nothing.code, nothing.out], [0, 'nothing ran\n'])
  assert.equal((await long).status, 409)
  for (const args of [['stop'], ['stop', id, '--user', 'a'], ['--limit', '0']])
    assert.equal((await cartage(env, 'activity', ...args)).code, 2, args.join(' '))
})

async function house(t: TestContext, options: Parameters<typeof setup>[1] = {}) {
  const bundle: Setup = await setup(t, options)
  const operator = operatorOf(t, bundle.url, bundle.keys.adminToken)
  const { user } = bundle
  const shown = (isMeant: (statement: ActivityStatement) => boolean) =>
    eventually(async () => {
      const { statements } = await operator.activity({ user: user.username })
      const found = statements.find(isMeant)
      assert.ok(found, JSON.stringify(statements))
      return found
    })
  return { bundle, user, operator, shown }
}

function operatorOf(t: TestContext, baseUrl: string, token: string): AdminClient {
  const client = createAdminClient({ baseUrl, token })
  t.after(() => client.close())
  return client
}

async function ofUser(operator: AdminClient, user: string, kind: ActivityStatement['kind']) {
  const { statements } = await operator.activity({ user })
  return statements.filter((each) => each.kind === kind)
}
