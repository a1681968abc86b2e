import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { cartage, connection } from '../support/http/call.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { eventually, setup } from '../support/service/setup.ts'
import {
  ask,
  type House,
  hurry,
  idsOf,
  openReceiver,
  ranJob,
  secret,
  verified,
} from '../support/webhooks/receiver.ts'

const receiver = await openReceiver()
const house = (t: TestContext) => setup(t, { worker: true, config: { webhooks: [receiver.host] } })

test('a job sends its end, signed as in Standard Webhooks, without its SQL', async (t) => {
  const { user } = await house(t)
  const hook = receiver.address()
  const notify = [{ url: hook.url, secret }]
  const id = await ranJob(user, 'select 4711', { name: 'nightly', labels: ['a'], notify })
  const [first] = await hook.atLeast(1)
  assert.deepEqual([first!.method, first!.headers['content-type']], ['POST', 'application/json'])
  assert.deepEqual(verified(first!), first!.body)
  assert.throws(() => verified(first!, `whsec_${Buffer.alloc(32, 8).toString('base64')}`))
  const { type, timestamp, data } = first!.body
  assert.equal(type, 'job.done')
  assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000)
  assert.deepEqual(
    [data.job_id, data.user, data.status, data.name, data.labels],
    [id, user.username, 'done', 'nightly', ['a']],
  )
  assert.ok(!first!.text.includes('4711'))
  await ranJob(user, ['select 1', 'select 4711/0'], { notify: [{ url: hook.url, include_sql: true }] })
  const [, failed] = await hook.atLeast(2)
  assert.equal(failed!.body.type, 'job.failed')
  assert.equal(failed!.body.data.failed_reason, 'division by zero')
  assert.ok(failed!.text.includes('4711/0'))
  assert.equal(failed!.headers['webhook-signature'], undefined)
})

for (const [form, sent] of [
  ['one statement', { query: "select 'bread'", params: [], timeout: 61_000 }],
  ['one statement with values', { query: 'select 1 / $1::int, $2::text', params: [0, 'bread'] }],
  [
    'a chain',
    {
      query: {
        query: [
          { query: 'select $1::text', params: ['bread'], onsuccess: "select 'bread'", timeout: 61_000 },
          "select 'bread', 1/0",
        ],
        onerror: "select 'bread', 1/0",
      },
    },
  ],
] as const) {
  test(`the data of a message is the document of a job of ${form}, with the SQL only if include_sql is true`, async (t) => {
    const { user } = await house(t)
    const [plain, full] = [receiver.address(), receiver.address()]
    const notify = [{ url: plain.url }, { url: full.url, include_sql: true }]
    const { query, ...values } = sent
    const tags = { name: 'nightly', labels: ['a'], retry: { attempts: 2, backoff_s: 1 } }
    const id = await ranJob(user, query, { ...values, ...tags, notify })
    const { body: document } = await ask(user, 'GET', `jobs/${id}`)
    const [[bare], [whole]] = await Promise.all([plain.atLeast(1), full.atLeast(1)])
    const { items, ...told } = bare!.body.data
    const { query: shown, params, ...rest } = document
    assert.deepEqual(told, rest)
    assert.ok(!bare!.text.includes('bread'), bare!.text)
    assert.ok(['duration_ms', 'attempts', 'retry', 'started_at'].every((name) => name in told))
    if (Array.isArray(shown.query)) {
      const outcomes = shown.query.map(
        ({ query: _sql, params: _values, onsuccess: _after, ...item }: Item) => item,
      )
      assert.deepEqual(items, outcomes)
      assert.deepEqual([told.fallback_status, 'fallback_failed_reason' in told], ['failed', true])
    } else {
      const [{ status, rows, timeout }, ...others] = items as readonly [Item, ...Item[]]
      assert.equal(status, document.status === 'done' ? 'done' : 'failed')
      assert.deepEqual([rows, timeout, others], [document.rows, document.timeout, []])
    }
    assert.deepEqual(whole!.body.data, { ...told, items, query: shown, ...(params && { params }) })
  })
}

type Item = Readonly<Record<string, unknown>>

test('of the messages of one job to one address the oldest goes first, and the others wait for it', async (t) => {
  const it = await house(t)
  const { user } = it
  let status = 500
  const hook = receiver.address(() => status)
  const id = await ranJob(user, 'select 1', { notify: [{ url: hook.url }] })
  await hook.atLeast(1)
  // A job has one end; this is what would be if it had another one.
  await it.service.services.databases.control.query(
    `insert into cartage.webhook_deliveries (user_id, webhook_id, type, subject)
     select user_id, webhook_id, 'job.failed', subject from cartage.webhook_deliveries where subject = $1`,
    [id],
  )
  for (const attempt of [2, 3]) {
    await attempted(it, attempt - 1)
    await hurry(it)
    await hook.atLeast(attempt)
  }
  assert.deepEqual(new Set(hook.got().map(({ body }) => body.type)), new Set(['job.done']))
  await attempted(it, 3)
  status = 200
  await hurry(it)
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=delivered')
    assert.equal(body.deliveries.length, 2)
  })
  const types = hook.got().map(({ body }) => body.type)
  // A slow machine may send the first message once more before it is hurried.
  assert.equal(types.pop(), 'job.failed')
  assert.ok(types.length >= 4 && types.every((type) => type === 'job.done'), types.join())
})

/** Waits until the outcome of this attempt of the oldest message, or of a later one, is written. */
const attempted = ({ user }: House, attempt: number) =>
  eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=pending')
    const { attempts, next_attempt_at: next, updated_at: at } = body.deliveries.at(-1)
    assert.ok(attempts >= attempt, String(attempts))
    assert.ok(Math.abs(Date.parse(next) - Date.parse(at) - 30_000) > 50, 'the attempt is still under way')
  })

test('`on` chooses which ends are sent, and a cancelled job is sent too', async (t) => {
  const { user } = await house(t)
  const [failures, cancels] = [receiver.address(), receiver.address()]
  const notify = [
    { url: failures.url, on: ['failed'] },
    { url: cancels.url, on: ['cancelled'] },
  ]
  await ranJob(user, 'select 1', { notify })
  await ranJob(user, 'select 1/0', { notify })
  const { body } = await ask(user, 'POST', 'jobs', { query: 'select pg_sleep(60)', notify })
  assert.equal((await ask(user, 'DELETE', `jobs/${body.job_id}`)).status, 200)
  const [told] = await cancels.atLeast(1)
  assert.deepEqual([told!.body.type, told!.body.data.job_id], ['job.cancelled', body.job_id])
  await failures.atLeast(1)
  const { body: all } = await ask(user, 'GET', 'webhooks/deliveries')
  assert.deepEqual(
    all.deliveries.map(({ type }: { type: string }) => type),
    ['job.cancelled', 'job.failed'],
  )
})

test("a webhook of an account gets the end of all its jobs and imports, and of no other account's", async (t) => {
  const { user, createUser } = await house(t)
  const other = await createUser()
  const hook = receiver.address()
  const made = await ask(user, 'POST', 'webhooks', { url: hook.url })
  assert.equal(made.status, 201)
  assert.match(made.body.secret, /^whsec_/)
  await ranJob(other, 'select 1')
  await ranJob(user, 'select 1')
  await hook.atLeast(1)
  const imported = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql: 'select 1 as n', table_name: 'made' }),
  })
  assert.equal(imported.status, 200, await imported.clone().text())
  const [job, load] = await hook.atLeast(2)
  assert.deepEqual([job!.body.type, load!.body.type], ['job.done', 'import.complete'])
  assert.deepEqual([load!.body.data.state, load!.body.data.table_names], ['complete', ['made']])
  assert.deepEqual(verified(load!, made.body.secret), load!.body)
  assert.equal(hook.got().length, 2)
})

test('a message that is not accepted is sent again with the same id and bytes, less and less often, for 24 hours', async (t) => {
  const it = await house(t)
  const { user } = it
  let status = 500
  const hook = receiver.address(() => status)
  await ranJob(user, 'select 1', { notify: [{ url: hook.url, secret }] })
  const pauses: number[] = []
  for (const attempt of [1, 2, 3]) {
    const received = await hook.atLeast(attempt)
    assert.equal(received.length, attempt)
    const waiting = await eventually(async () => {
      const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=pending')
      assert.equal(body.deliveries[0].response_status, 500)
      assert.equal(body.deliveries[0].attempts, attempt)
      const pause = Date.parse(body.deliveries[0].next_attempt_at) - Date.parse(body.deliveries[0].updated_at)
      assert.notEqual(pause, 30_000, 'the attempt is still under way')
      return pause
    })
    pauses.push(waiting)
    await hurry(it)
  }
  assert.ok(pauses[0]! > 4_000 && pauses[1]! > 3 * pauses[0]! && pauses[2]! > 3 * pauses[1]!, String(pauses))
  const ids = new Set(hook.got().map(({ headers }) => headers['webhook-id']))
  assert.deepEqual([ids.size, new Set(hook.got().map(({ text }) => text)).size], [1, 1])
  for (const each of hook.got()) verified(each)
  await hurry(it, 'gives_up_at')
  await hurry(it)
  const lost = await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=undelivered')
    assert.equal(body.deliveries.length, 1)
    return body.deliveries[0]
  })
  assert.match(lost.failure, /^The answer has the status 50\d$/)
  status = 200
  const count = hook.got().length
  assert.equal((await ask(user, 'POST', `webhooks/deliveries/${lost.id}`)).status, 202)
  await hook.atLeast(count + 1)
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=delivered')
    assert.equal(body.deliveries[0]?.id, lost.id)
  })
})

test('the end of a job never waits for an address that does not answer, and others are notified meanwhile', async (t) => {
  const { user } = await house(t)
  let release = () => {}
  const stuck = new Promise<number>((resolve) => {
    release = () => resolve(200)
  })
  t.after(() => release())
  const [silent, lively] = [receiver.address(() => stuck), receiver.address()]
  const startedAt = performance.now()
  await ranJob(user, 'select 1', { notify: [{ url: silent.url }] })
  assert.ok(performance.now() - startedAt < 4_000)
  await ranJob(user, 'select 1', { notify: [{ url: lively.url }] })
  await lively.atLeast(1)
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=pending')
    assert.equal(body.deliveries[0].failure, 'There was no answer within 5 seconds')
  })
})

test('a sender that was overtaken writes no outcome: the message is sent again', async (t) => {
  const { user, service } = await house(t)
  const { control } = service.services.databases
  let isFirst = true
  const hook = receiver.address(async () => {
    if (!isFirst) return 200
    isFirst = false
    // Another sender claims it while the first one waits for the answer.
    await control.query(
      'update cartage.webhook_deliveries set claim = gen_random_uuid(), due_at = clock_timestamp() where user_id = $1',
      [user.account.userId],
    )
    return 200
  })
  await ranJob(user, 'select 1', { notify: [{ url: hook.url }] })
  const [one, two] = await hook.atLeast(2)
  assert.equal(one!.headers['webhook-id'], two!.headers['webhook-id'])
})

test("only the master key manages webhooks, and no account sees another's", async (t) => {
  const { user, createUser } = await house(t)
  const other = await createUser()
  const hook = receiver.address()
  const { body: made } = await ask(user, 'POST', 'webhooks', { url: hook.url })
  const reader = await keysClient(user).make('reader', grantsOf({}))
  await ranJob(user, 'select 1')
  const [told] = await hook.atLeast(1)
  const delivery = String(told!.headers['webhook-id'])
  for (const [method, path] of [
    ['GET', 'webhooks'],
    ['POST', 'webhooks'],
    ['PUT', `webhooks/${made.id}`],
    ['DELETE', `webhooks/${made.id}`],
    ['POST', `webhooks/${made.id}/test`],
    ['GET', 'webhooks/deliveries'],
    ['POST', `webhooks/deliveries/${delivery}`],
  ] as const) {
    const body = method === 'GET' || method === 'DELETE' ? undefined : { url: hook.url }
    assert.equal((await ask(user, method, path, body, reader.token)).status, 403, path)
    assert.equal((await ask(user, method, path, body, other.masterToken)).status, 401, path)
    if (path.includes(made.id) || path.includes(delivery))
      assert.equal((await ask(other, method, path, body)).status, 404, path)
  }
  assert.deepEqual((await ask(other, 'GET', 'webhooks')).body, { webhooks: [] })
  assert.deepEqual((await ask(other, 'GET', 'webhooks/deliveries')).body, { deliveries: [], next: null })
  assert.equal(hook.got().length, 1)
})

test('a webhook is changed, tested, disabled and deleted', async (t) => {
  const it = await house(t)
  const { user } = it
  const { webhooks } = clientOf(t, it)
  const hook = receiver.address()
  const made = await webhooks.create({ url: hook.url, on: ['job.failed'] })
  assert.equal((await webhooks.test(made.id)).type, 'webhook.test')
  const [tested] = await hook.atLeast(1)
  assert.deepEqual(verified(tested!, made.secret), { ...tested!.body, data: {} })
  const { secret: _secret, ...document } = made
  assert.deepEqual(await webhooks.list(), [document])
  await webhooks.change(made.id, { url: hook.url, on: ['job.done'], include_sql: true })
  await ranJob(user, 'select 42')
  const [, done] = await hook.atLeast(2)
  assert.ok(done!.text.includes('select 42'))
  assert.deepEqual(verified(done!, made.secret), done!.body)
  await webhooks.change(made.id, { url: hook.url, enabled: false })
  await ranJob(user, 'select 1')
  assert.equal((await idsOf(webhooks.deliveries())).length, 2)
  await webhooks.redeliver(tested!.headers['webhook-id'] as string)
  await hook.atLeast(3)
  await webhooks.delete(made.id)
  assert.deepEqual(await webhooks.list(), [])
  assert.deepEqual(await idsOf(webhooks.deliveries()), [])
})

test('an invalid webhook or notify is refused with the reason, and no job is created', async (t) => {
  const { user } = await house(t)
  const { url } = receiver.address()
  for (const [wrong, text] of [
    [{}, /url must be an address/],
    [{ url: 'nonsense' }, /url must be an address/],
    [{ url: `${url}${'x'.repeat(2_048)}` }, /at most 2048 characters/],
    [{ url, secret: 'secret' }, /secret must be whsec_/],
    [{ url, secret: `whsec_${Buffer.alloc(16).toString('base64')}` }, /24 to 64 bytes/],
    [{ url, on: [] }, /on must be an array of/],
    [{ url, on: ['finished'] }, /on must be an array of/],
    [{ url, include_sql: 'yes' }, /include_sql must be true or false/],
    [{ url, nonsense: 1 }, /no member 'nonsense'/],
  ] as const) {
    for (const [path, body] of [
      ['webhooks', wrong],
      ['jobs', { query: 'select 1', notify: [wrong] }],
    ] as const) {
      const answer = await ask(user, 'POST', path, body)
      assert.equal(answer.status, 400, JSON.stringify(body))
      assert.match(answer.body.error[0], text)
    }
  }
  const six = Array.from({ length: 6 }, () => ({ url }))
  assert.match(
    (await ask(user, 'POST', 'jobs', { query: 'select 1', notify: six })).body.error[0],
    /at most 5/,
  )
  assert.deepEqual((await ask(user, 'GET', 'jobs')).body.jobs, [])
  for (let made = 0; made < 20; made++)
    assert.equal((await ask(user, 'POST', 'webhooks', { url })).status, 201)
  assert.equal((await ask(user, 'POST', 'webhooks', { url })).body.code, 'too-many-webhooks')
})

test('`cartage job run --notify` names addresses that are notified', async (t) => {
  const it = await house(t)
  const [one, two] = [receiver.address(), receiver.address()]
  const run = await cartage(
    connection(it),
    'job',
    'run',
    'select 1',
    '--notify',
    one.url,
    '--notify',
    two.url,
  )
  assert.equal(run.code, 0, run.err)
  for (const hook of [one, two]) assert.equal((await hook.atLeast(1))[0]!.body.type, 'job.done')
})

test('an answer of 101 counts as a refusal and is retried', async (t) => {
  const it = await house(t)
  const { user } = it
  const hook = receiver.address(() => 101)
  await ranJob(user, 'select 1', { notify: [{ url: hook.url }] })
  await hook.atLeast(1)
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=pending')
    assert.equal(body.deliveries[0].response_status, 101)
  })
})

test('a repeated request with other addresses in notify is refused, and one with the same notifies once', async (t) => {
  const { user } = await house(t)
  const [one, two] = [receiver.address(), receiver.address()]
  const post = async (url: string) => {
    const response = await fetch(`${user.base}/api/v4/jobs?api_key=${user.masterToken}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'told once' },
      body: JSON.stringify({ query: 'select 1', notify: [{ url }] }),
    })
    return { status: response.status, code: ((await response.json()) as { code?: string }).code }
  }
  assert.equal((await post(one.url)).status, 201)
  assert.equal((await post(one.url)).status, 201)
  assert.equal((await post(two.url)).code, 'idempotency-key-reused')
  await one.atLeast(1)
  const { body } = await ask(user, 'GET', 'webhooks/deliveries')
  assert.equal(body.deliveries.length, 1)
})

test('a request for the 21st webhook waits for the one creating the 20th, and is refused', async (t) => {
  const { user, service } = await house(t)
  const { url } = receiver.address()
  for (let made = 0; made < 19; made++) await ask(user, 'POST', 'webhooks', { url })
  const { control } = service.services.databases
  const first = await control.connect()
  t.after(() => first.release(true))
  await first.query('begin')
  await first.query('select from cartage.users where id = $1 for no key update', [user.account.userId])
  await first.query(
    `insert into cartage.webhooks (user_id, url, events, include_sql) values ($1, $2, '{}', false)`,
    [user.account.userId, url],
  )
  const second = ask(user, 'POST', 'webhooks', { url })
  await eventually(async () => {
    const { rows } = await control.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%no key update'`,
    )
    assert.equal(rows.length, 1)
  })
  await first.query('commit')
  assert.equal((await second).body.code, 'too-many-webhooks')
})

test('a disabled webhook sends no waiting messages, and at most 5 of its tests wait', async (t) => {
  const { user } = await house(t)
  const hook = receiver.address(() => 500)
  const { body: made } = await ask(user, 'POST', 'webhooks', { url: hook.url })
  const tests = await Promise.all(
    Array.from({ length: 8 }, () => ask(user, 'POST', `webhooks/${made.id}/test`)),
  )
  assert.equal(tests.filter(({ status }) => status === 202).length, 5)
  const refused = await ask(user, 'POST', `webhooks/${made.id}/test`)
  assert.deepEqual([refused.status, refused.body.code], [409, 'too-many-test-messages'])
  await ask(user, 'PUT', `webhooks/${made.id}`, { url: hook.url, enabled: false })
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries')
    assert.deepEqual(
      new Set(body.deliveries.map((one: { status: string }) => one.status)),
      new Set(['undelivered']),
    )
  })
})

test('an import that sent nothing is reported as failed, and a preview is not reported', async (t) => {
  const { user } = await house(t)
  const hook = receiver.address()
  await ask(user, 'POST', 'webhooks', { url: hook.url })
  const post = async (query: string, body: FormData) => {
    const response = await fetch(`${user.base}/api/v1/imports?api_key=${user.masterToken}${query}`, {
      method: 'POST',
      body,
    })
    return (await response.json()) as { item_queue_id: string }
  }
  const form = new FormData()
  form.set('file', new Blob(['n\n1\n']), 'numbers.csv')
  const { item_queue_id: id } = await post('&preview=true', form)
  await eventually(async () => {
    const response = await fetch(`${user.base}/api/v1/imports/${id}?api_key=${user.masterToken}`)
    assert.equal(((await response.json()) as { state: string }).state, 'complete')
  })
  const { item_queue_id: nothing } = await post('', new FormData())
  const [told] = await hook.atLeast(1)
  assert.deepEqual([told!.body.type, told!.body.data.id], ['import.failure', nothing])
  assert.equal((await ask(user, 'GET', 'webhooks/deliveries')).body.deliveries.length, 1)
})

test('beyond 10,000 waiting messages of a user, a message is undelivered at once', async (t) => {
  const { user, service } = await house(t)
  const hook = receiver.address()
  const { body: made } = await ask(user, 'POST', 'webhooks', { url: hook.url })
  await service.services.databases.control.query(
    `insert into cartage.webhook_deliveries (user_id, webhook_id, type, subject, due_at)
     select $1, $2, 'job.done', gen_random_uuid(), clock_timestamp() + interval '1 hour' from generate_series(1, 10000)`,
    [user.account.userId, made.id],
  )
  await ranJob(user, 'select 1')
  const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=undelivered')
  assert.deepEqual(
    body.deliveries.map((one: { failure: string }) => one.failure),
    ['10000 messages of this user were waiting'],
  )
})

test('a message whose secret cannot be read is listed with a failure, and given up', async (t) => {
  const it = await house(t)
  const { control } = it.service.services.databases
  const hook = receiver.address()
  const { body: made } = await ask(it.user, 'POST', 'webhooks', { url: hook.url })
  await control.query(`update cartage.webhooks set sealed_secret = '\\x00' where id = $1`, [made.id])
  await ranJob(it.user, 'select 1')
  await hurry(it, 'gives_up_at')
  await eventually(async () => {
    const { body } = await ask(it.user, 'GET', 'webhooks/deliveries?status=undelivered')
    assert.match(body.deliveries[0]?.failure, /cannot be made/)
  })
})
