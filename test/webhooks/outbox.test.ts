import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimDeliveries, cleanDelivered, cleanUndelivered } from '../../src/webhooks/delivery-store.ts'
import { cleanJobWebhooks } from '../../src/webhooks/webhook-store.ts'
import { clientOf } from '../support/keys/client-of.ts'
import { setup } from '../support/service/setup.ts'
import { ask, idsOf } from '../support/webhooks/receiver.ts'

type House = Awaited<ReturnType<typeof setup>>

/** A webhook with messages that are due since `age`. */
async function outbox(
  { service }: House,
  userId: number,
  count: number,
  status: string,
  age: string,
): Promise<string> {
  const { control } = service.services.databases
  const { rows } = await control.query<{ id: string }>(
    `insert into cartage.webhooks (user_id, url, events, include_sql) values ($1, 'http://x', '{}', false) returning id`,
    [userId],
  )
  await control.query(
    `insert into cartage.webhook_deliveries (user_id, webhook_id, type, subject, status, due_at, updated_at)
     select $1, $2, 'job.done', gen_random_uuid(), $4, clock_timestamp() - $5::interval, clock_timestamp() - $5::interval
     from generate_series(1, $3)`,
    [userId, rows[0]!.id, count, status, age],
  )
  return rows[0]!.id
}

test('users take turns in the outbox, counting messages being sent', async (t) => {
  const it = await setup(t, { isIsolated: true })
  const { control } = it.service.services.databases
  const [many, few] = [it.user.account.userId, (await it.createUser()).account.userId]
  await outbox(it, many, 20, 'pending', '2 hours')
  await outbox(it, few, 2, 'pending', '1 hour')
  const claim = async (most: number, underWay = new Map<number, number>()) => {
    const claimed = await claimDeliveries(control, { most, perUser: 4, underWay, leaseSeconds: 30 })
    return [many, few].map((user) => claimed.filter(({ userId }) => userId === user).length)
  }
  assert.deepEqual(await claim(2), [1, 1])
  assert.deepEqual(await claim(1, new Map([[many, 1]])), [0, 1])
  assert.deepEqual(await claim(32, new Map([[many, 1]])), [3, 0])
  assert.deepEqual(await claim(32, new Map([[many, 4]])), [0, 0])
})

test('each page of messages names the start of the next one, and none is missing or listed twice', async (t) => {
  const it = await setup(t)
  const { user } = it
  const { userId } = user.account
  const { webhooks } = clientOf(t, it)
  await outbox(it, userId, 150, 'undelivered', '1 hour')
  await outbox(it, userId, 7, 'delivered', '1 hour')
  await outbox(it, userId, 100, 'undelivered', '1 hour')
  const { rows } = await it.service.services.databases.control.query<{ id: string; status: string }>(
    'select id, status from cartage.webhook_deliveries where user_id = $1 order by position desc',
    [userId],
  )
  const all = rows.map(({ id }) => id)
  const undelivered = rows.flatMap(({ id, status }) => (status === 'undelivered' ? [id] : []))
  const page = async (query: string) => {
    const { status, body } = await ask(user, 'GET', `webhooks/deliveries?${query}`)
    assert.equal(status, 200, JSON.stringify(body))
    return {
      ids: body.deliveries.map(({ id }: { id: string }) => id) as string[],
      next: body.next as string | null,
    }
  }
  const first = await page('')
  assert.deepEqual(first.ids, all.slice(0, 100))
  // New ones do not move those on the next page.
  await outbox(it, userId, 3, 'undelivered', '1 hour')
  const second = await page(`after=${first.next}&per_page=100`)
  assert.deepEqual(second.ids, all.slice(100, 200))
  assert.deepEqual(await page(`after=${second.next}&per_page=57`), { ids: all.slice(200), next: null })
  const some = await page(`after=${first.next}&status=delivered&per_page=7`)
  assert.deepEqual(some, { ids: all.filter((id) => !undelivered.includes(id)), next: null })
  const listed = await idsOf(webhooks.deliveries({ status: 'undelivered', per_page: 60 }))
  assert.deepEqual(listed.slice(3), undelivered)
  for (const wrong of ['after=x', 'after=-1', `after=${'9'.repeat(19)}`, 'per_page=0', 'per_page=101'])
    assert.equal((await ask(user, 'GET', `webhooks/deliveries?${wrong}`)).status, 400, wrong)
})

test('old messages are deleted in steps, delivered ones after 3 days and undelivered ones after 30', async (t) => {
  const it = await setup(t, { isIsolated: true })
  const { control } = it.service.services.databases
  const { userId } = it.user.account
  await outbox(it, userId, 501, 'delivered', '4 days')
  await outbox(it, userId, 1, 'delivered', '2 days')
  await outbox(it, userId, 501, 'undelivered', '31 days')
  await outbox(it, userId, 1, 'undelivered', '29 days')
  await outbox(it, userId, 1, 'pending', '40 days')
  for (const clean of [cleanDelivered, cleanUndelivered]) {
    assert.equal(await clean(control), true)
    assert.equal(await clean(control), false)
  }
  const { rows } = await control.query(
    'select status, count(*)::integer from cartage.webhook_deliveries where user_id = $1 group by 1 order by 1',
    [userId],
  )
  assert.deepEqual(rows, [
    { status: 'delivered', count: 1 },
    { status: 'pending', count: 1 },
    { status: 'undelivered', count: 1 },
  ])
})

test('addresses of deleted jobs are deleted in steps', async (t) => {
  const it = await setup(t, { isIsolated: true })
  const { control } = it.service.services.databases
  const { userId } = it.user.account
  const insert = (count: number, age: string) =>
    control.query(
      `insert into cartage.webhooks (user_id, job_id, url, events, include_sql, created_at)
       select $1, gen_random_uuid(), 'http://x', '{}', false, clock_timestamp() - $3::interval from generate_series(1, $2)`,
      [userId, count, age],
    )
  await insert(1_200, '2 hours')
  await insert(10, '1 minute')
  let steps = 1
  for (let last = await cleanJobWebhooks(control, undefined); last; steps++)
    last = await cleanJobWebhooks(control, last)
  assert.equal(steps, 3)
  const { rows } = await control.query(
    'select count(*)::integer from cartage.webhooks where user_id = $1 and job_id is not null',
    [userId],
  )
  assert.deepEqual(rows, [{ count: 10 }])
})

test('a webhook is deleted with its messages in short steps', async (t) => {
  const it = await setup(t, { isIsolated: true })
  const { control } = it.service.services.databases
  const { userId } = it.user.account
  const [webhook, other] = [
    await outbox(it, userId, 12_345, 'undelivered', '1 hour'),
    await outbox(it, userId, 3, 'undelivered', '1 hour'),
  ]
  await control.query(`create function public.refuse_many() returns trigger language plpgsql as $$
    begin
      if (select count(*) from gone) > 2000 then raise exception 'too many at once'; end if;
      return null;
    end $$`)
  await control.query(`create trigger refuse_many after delete on cartage.webhook_deliveries
    referencing old table as gone for each statement execute function public.refuse_many()`)
  assert.equal((await ask(it.user, 'DELETE', `webhooks/${webhook}`)).status, 204)
  assert.equal((await ask(it.user, 'DELETE', `webhooks/${webhook}`)).status, 404)
  const { rows } = await control.query(
    'select webhook_id, count(*)::integer from cartage.webhook_deliveries group by 1',
  )
  assert.deepEqual(rows, [{ webhook_id: other, count: 3 }])
})

test('the end of a job never reads its definition, whatever its addresses and labels', async (t) => {
  const it = await setup(t, { config: { webhooks: ['127.0.0.1:9'] } })
  const query = Array.from({ length: 900 }, (_, item) => `select ${item} /* ${'x'.repeat(1_000)} */`)
  const notify = [{ url: 'http://127.0.0.1:9/' }]
  await ask(it.user, 'POST', 'webhooks', notify[0])
  const { body } = await ask(it.user, 'POST', 'schedules', {
    name: 'each',
    cron: '@yearly',
    query,
    labels: ['long', 'yearly'],
    notify,
  })
  assert.equal(body.name, 'each')
  const { body: run } = await ask(it.user, 'POST', 'schedules/each/run')
  const id = run.job_id
  const endMs = await shortest(
    it,
    `update cartage.jobs set status = 'cancelled', finished_at = clock_timestamp(), revision = revision + 1 where id = '${id}'`,
  )
  const readMs = await shortest(
    it,
    `select from cartage.jobs where id = '${id}' and definition ->> 'schedule' = 'each'`,
  )
  // With the definition it would take as long as the read, plus the update.
  assert.ok(endMs < readMs, JSON.stringify({ endMs, readMs }))
})

/** How long a statement takes without the tests' trigger on jobs: the shortest of several runs. Nothing is changed. */
async function shortest({ service }: House, statement: string): Promise<number> {
  const client = await service.services.databases.control.connect()
  const times: number[] = []
  for (let turn = 0; turn < 7; turn++) {
    await client.query('begin')
    const { rows } = await client.query<{
      'QUERY PLAN': [{ 'Execution Time': number; Triggers: { 'Trigger Name': string; Time: number }[] }]
    }>(`explain (analyze, format json) ${statement}`)
    await client.query('rollback')
    const [{ 'Execution Time': all, Triggers: triggers }] = rows[0]!['QUERY PLAN']
    const watch = triggers.find((each) => each['Trigger Name'] === 'watch_job')
    times.push(all - (watch?.Time ?? 0))
  }
  client.release()
  return Math.min(...times)
}
