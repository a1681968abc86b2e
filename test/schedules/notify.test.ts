import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ScheduleDocument } from '../../src/contract/documents.ts'
import { cleanJobWebhooks } from '../../src/webhooks/webhook-store.ts'
import { cartage, connection } from '../support/http/call.ts'
import { eventually, setup, type TestUser } from '../support/service/setup.ts'
import {
  ask,
  type House,
  hurry,
  openReceiver,
  ranJob,
  secret,
  verified,
} from '../support/webhooks/receiver.ts'

/**
 * A service with a receiver of its messages. Opened in the test: files of pure functions end before this one begins.
 */
async function house(t: TestContext) {
  const receiver = await openReceiver()
  return { receiver, ...(await setup(t, { worker: true, config: { webhooks: [receiver.host] } })) }
}

const yearly = { cron: '0 0 1 1 *', query: 'select 1' }

async function put(user: TestUser, name: string, body: object): Promise<ScheduleDocument> {
  const answer = await ask(user, 'PUT', `schedules/${name}`, { ...yearly, ...body })
  assert.ok(answer.status === 200 || answer.status === 201, JSON.stringify(answer.body))
  return answer.body as unknown as ScheduleDocument
}

/** Runs the schedule now and waits for the end of its job. */
async function ran(user: TestUser, name: string): Promise<string> {
  const { body } = await ask(user, 'POST', `schedules/${name}/run`)
  await eventually(async () => {
    const job = await ask(user, 'GET', `jobs/${body.job_id}?wait=5`)
    assert.ok(['done', 'failed'].includes(job.body.status), job.body.status)
  })
  return body.job_id
}

test('a schedule notifies its addresses of the end of its own jobs only', async (t) => {
  const { user, createUser, receiver } = await house(t)
  const [mine, failures, others] = [receiver.address(), receiver.address(), receiver.address()]
  const notify = [
    { url: mine.url, secret, include_sql: true },
    { url: failures.url, on: ['failed'] },
  ]
  const made = await put(user, 'mine', { notify })
  assert.deepEqual(made.notify, [
    { url: mine.url, on: ['done', 'failed', 'cancelled', 'unknown'], include_sql: true },
    { url: failures.url, on: ['failed'], include_sql: false },
  ])
  const stranger = await createUser()
  for (const owner of [user, stranger]) await put(owner, 'other', { notify: [{ url: others.url }] })
  await put(stranger, 'mine', {})
  await ran(stranger, 'mine')
  await ranJob(user, 'select 2')
  const other = await ran(user, 'other')
  const job = await ran(user, 'mine')
  const [first] = await mine.atLeast(1)
  assert.deepEqual(verified(first!), first!.body)
  const { type, data } = first!.body
  assert.deepEqual([type, data.job_id, data.schedule], ['job.done', job, 'mine'])
  assert.ok(first!.text.includes('select 1'))
  const [second] = await others.atLeast(1)
  assert.deepEqual([second!.body.data.job_id, second!.headers['webhook-signature']], [other, undefined])
  const { deliveries } = (await ask(user, 'GET', 'webhooks/deliveries')).body
  assert.deepEqual(
    deliveries.map(({ job_id }: { job_id: string }) => job_id),
    [job, other],
  )
  assert.deepEqual([mine.got().length, failures.got().length, others.got().length], [1, 0, 1])
})

test('an address of a schedule is not listed as a webhook of the account', async (t) => {
  const { user, receiver } = await house(t)
  const hook = receiver.address()
  await put(user, 'each', { notify: [{ url: hook.url }] })
  await ran(user, 'each')
  await hook.atLeast(1)
  assert.deepEqual((await ask(user, 'GET', 'webhooks')).body, { webhooks: [] })
  const { webhook_id: id } = (await ask(user, 'GET', 'webhooks/deliveries')).body.deliveries[0]
  for (const [method, path, body] of [
    ['PUT', `webhooks/${id}`, { url: hook.url }],
    ['DELETE', `webhooks/${id}`, undefined],
    ['POST', `webhooks/${id}/test`, {}],
  ] as const)
    assert.equal((await ask(user, method, path, body)).status, 404, `${method} ${path}`)
  for (let made = 0; made < 20; made++)
    assert.equal((await ask(user, 'POST', 'webhooks', { url: hook.url })).status, 201)
})

test('an address that stays keeps its secret, and a removed one is not notified any more', async (t) => {
  const { user, receiver } = await house(t)
  const [kept, gone, added] = [receiver.address(), receiver.address(), receiver.address()]
  const made = await put(user, 'each', { notify: [{ url: kept.url, secret }, { url: gone.url }] })
  // The document as it was read, without a secret.
  await put(user, 'each', { ...made, enabled: false })
  const changed = await put(user, 'each', {
    ...made,
    notify: [{ url: added.url }, { url: kept.url, on: ['done'] }],
  })
  assert.deepEqual(
    changed.notify?.map(({ url, on }) => [url, on?.length]),
    [
      [added.url, 4],
      [kept.url, 1],
    ],
  )
  const job = await ran(user, 'each')
  const [told] = await kept.atLeast(1)
  assert.equal((verified(told!) as { data: { job_id: string } }).data.job_id, job)
  await added.atLeast(1)
  const another = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
  await put(user, 'each', { notify: [{ url: kept.url, secret: another }] })
  await ran(user, 'each')
  const [, second] = await kept.atLeast(2)
  verified(second!, another)
  const { notify } = await put(user, 'each', {})
  await ran(user, 'each')
  assert.equal(notify, undefined)
  assert.equal((await ask(user, 'GET', 'webhooks/deliveries')).body.deliveries.length, 3)
  assert.equal(gone.got().length, 0)
})

test('a message written before a schedule is deleted is still sent', async (t) => {
  const it = await house(t)
  const { user, receiver } = it
  let isOpen = false
  const hook = receiver.address(() => (isOpen ? 204 : 503))
  await put(user, 'each', { notify: [{ url: hook.url }] })
  const job = await ran(user, 'each')
  await hook.atLeast(1)
  assert.equal((await ask(user, 'DELETE', 'schedules/each')).status, 204)
  isOpen = true
  await eventually(async () => {
    await hurry(it)
    const { deliveries } = (await ask(user, 'GET', 'webhooks/deliveries')).body
    assert.deepEqual([deliveries[0]?.job_id, deliveries[0]?.status], [job, 'delivered'])
  })
  await put(user, 'each', {})
  await ran(user, 'each')
  assert.equal((await ask(user, 'GET', 'webhooks/deliveries')).body.deliveries.length, 1)
})

test('the message of a job that ends while its schedule is deleted is sent, even if the clean-up runs in between', async (t) => {
  const { service, user } = await setup(t, { config: { webhooks: ['127.0.0.1:9'] } })
  const { control } = service.services.databases
  const { userId } = user.account
  await put(user, 'each', { notify: [{ url: 'http://127.0.0.1:9/' }] })
  const { job_id: job } = (await ask(user, 'POST', 'schedules/each/run')).body
  await control.query(
    `update cartage.webhooks set created_at = created_at - interval '2 hours' where user_id = $1`,
    [userId],
  )
  const ending = await control.connect()
  await ending.query('begin')
  await ending.query(
    `update cartage.jobs set status = 'cancelled', finished_at = clock_timestamp(), revision = revision + 1
     where user_id = $1 and id = $2`,
    [userId, job],
  )
  assert.equal((await ask(user, 'DELETE', 'schedules/each')).status, 204)
  const first = '00000000-0000-0000-0000-000000000000'
  const swept = cleanJobWebhooks(control, { userId, jobId: first, id: first })
  await Promise.race([swept, sleep(300)])
  await ending.query('commit')
  ending.release()
  await swept
  const { deliveries } = (await ask(user, 'GET', 'webhooks/deliveries')).body
  assert.deepEqual(
    deliveries.map(({ job_id, type }: { job_id: string; type: string }) => [job_id, type]),
    [[job, 'job.cancelled']],
  )
})

/** As if it had failed nine times and were due. */
const failNext = ({ service, user }: House, name: string) =>
  service.services.databases.control.query(
    'update cartage.schedules set failures = 9, next_due_at = clock_timestamp() where user_id = $1 and name = $2',
    [user.account.userId, name],
  )

test('a disabled schedule notifies all of its own addresses, whatever other events they get', async (t) => {
  const it = await house(t)
  const { user, receiver } = it
  const [mine, other] = [receiver.address(), receiver.address()]
  await put(user, 'mine', { query: 'select 1/0', notify: [{ url: mine.url, on: ['done'], secret }] })
  await put(user, 'other', { notify: [{ url: other.url }] })
  await failNext(it, 'mine')
  const [told] = await mine.atLeast(1)
  const { type, data } = verified(told!) as { type: string; data: { schedule: string } }
  assert.deepEqual([type, data.schedule], ['schedule.disabled', 'mine'])
  const { deliveries } = (await ask(user, 'GET', 'webhooks/deliveries')).body
  assert.equal(deliveries.length, 1)
  assert.equal(other.got().length, 0)
})

test('an invalid notify is refused with the reason, and no schedule is created', async (t) => {
  const { user, receiver } = await house(t)
  const { url } = receiver.address()
  for (const [notify, text] of [
    ['here', /notify must be an array/],
    [Array.from({ length: 6 }, (_, number) => ({ url: url + number })), /at most 5/],
    [[{ url: 'http://10.0.0.1/' }], /not an address that webhooks of this server may reach/],
    [[{ url: 'ftp://127.0.0.1/' }], /must begin with http/],
    [[{ url, on: ['finished'] }], /on must be an array of/],
    [[{ url, secret: 'secret' }], /secret must be whsec_/],
    [[{ url }, { url, on: ['done'] }], /twice/],
  ] as const) {
    const answer = await ask(user, 'POST', 'schedules', { name: 'x', ...yearly, notify })
    assert.equal(answer.status, 400, JSON.stringify(notify))
    assert.match(answer.body.error[0], text)
  }
  assert.deepEqual((await ask(user, 'GET', 'schedules')).body.schedules, [])
})

test('a schedule keeps its addresses and can be paused where webhooks may no longer reach them', async (t) => {
  const { user, createUser } = await setup(t, { config: { webhooks: ['hooks.example.org'] } })
  const url = 'https://hooks.example.org/'
  const made = await put(user, 'each', { notify: [{ url: 'https://hooks.example.org', secret }] })
  const stranger = await createUser()
  const elsewhere = [
    await setup(t, { config: { webhooks: ['hooks.example.com'] } }),
    // Without webhooks.
    await setup(t),
  ]
  for (const house of elsewhere) {
    const at = ({ username, ...rest }: TestUser) => ({
      ...rest,
      username,
      base: `${house.url}/user/${username}`,
    })
    const paused = await put(at(user), 'each', { ...made, enabled: false })
    assert.deepEqual([paused.enabled, paused.notify?.map((each) => each.url)], [false, [url]])
    const notify = [{ url }]
    for (const [method, path, owner, body] of [
      ['PUT', 'schedules/other', user, { ...yearly, notify }],
      ['PUT', 'schedules/each', stranger, { ...yearly, notify }],
      ['PUT', 'schedules/each', user, { ...yearly, notify: [{ url: `${url}other` }] }],
      ['POST', 'jobs', user, { query: 'select 1', notify }],
    ] as const)
      assert.equal((await ask(at(owner), method, path, body)).status, 400, `${method} ${path}`)
  }
})

test('notify of a schedule is refused on a server without webhooks', async (t) => {
  const { user } = await setup(t)
  const url = 'https://hooks.example.org/'
  const answer = await ask(user, 'POST', 'schedules', { name: 'x', ...yearly, notify: [{ url }] })
  assert.deepEqual([answer.status, answer.body.code], [400, 'webhooks-disabled'])
  assert.equal((await ask(user, 'POST', 'schedules', { name: 'x', ...yearly, notify: [] })).status, 201)
})

test('`cartage schedule create --notify` names addresses, and a pause keeps them', async (t) => {
  const it = await house(t)
  const me = connection(it)
  const { receiver } = it
  const [one, two] = [receiver.address(), receiver.address()]
  const run = async (...args: string[]) => {
    const { code, out, err } = await cartage(me, 'schedule', ...args)
    assert.equal(code, 0, err)
    return out
  }
  await run('create', 'each', '@yearly', 'select 1', '--notify', one.url, '--notify', two.url)
  await run('pause', 'each')
  const shown = await run('show', 'each')
  for (const { url } of [one, two]) assert.ok(shown.includes(`notify  ${url}`), shown)
  await run('resume', 'each')
  await ran(it.user, 'each')
  await one.atLeast(1)
  await two.atLeast(1)
})
