import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type ImportHouse, setupImports } from '../support/imports/import-api.ts'
import { uploadApi } from '../support/imports/upload-api.ts'
import { startWorkerProcess } from '../support/jobs/worker-process.ts'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import { askForMap, askMapTile } from '../support/maps/map-api.ts'
import { makeMap } from '../support/maps/named-api.ts'
import { basic, eventually, setup, type TestUser } from '../support/service/setup.ts'
import { suspending, untilAsleep } from '../support/service/suspending.ts'
import { askMaps } from '../support/tiles/tile-api.ts'
import { ask, hurry, openReceiver, ranJob } from '../support/webhooks/receiver.ts'

/** A request whose body is sent in pieces. */
function sending(t: TestContext, method: string, url: string, headers: Record<string, string> = {}) {
  const sent = request(url, { method, headers: { ...headers, 'transfer-encoding': 'chunked' } })
  t.after(() => sent.destroy())
  sent.on('error', () => undefined)
  const answer = once(sent, 'response').then(async ([response]: IncomingMessage[]) => ({
    status: response!.statusCode,
    text: await text(response!),
  }))
  /** Sends on until it is answered, for at most ten seconds. */
  const refused = async () => {
    const timer = setInterval(() => sent.write('1\n'), 100)
    const limit = setTimeout(() => sent.destroy(new Error('it was not answered')), 10_000)
    return answer.finally(() => {
      clearInterval(timer)
      clearTimeout(limit)
    })
  }
  return { sent, answer, refused }
}

const importUrl = ({ base }: TestUser, token: string) =>
  `${base}/api/v1/imports?${new URLSearchParams({ filename: 'slow.csv', api_key: token })}`

/** An upload whose first bytes have been sent. */
async function begunImport(t: TestContext, house: ImportHouse, token = house.user.masterToken) {
  const before = house.left().length
  const begun = sending(t, 'POST', importUrl(house.user, token))
  begun.sent.write('n\n1\n')
  await eventually(() => assert.equal(house.left().length, before + 1))
  return begun
}

test('a file that arrives while its account is suspended or its key replaced becomes no import', async (t) => {
  const house = await setupImports(t)
  const { user } = house
  const { suspend, resume } = suspending(t, house)
  const ends = await begunImport(t, house)
  const goesOn = await begunImport(t, house)
  await suspend()
  ends.sent.end('2\n')
  for (const { status, text: told } of [await ends.answer, await goesOn.refused()]) {
    assert.equal(status, 403)
    assert.match(told, /This account is suspended: The invoice of May is open/)
  }
  await resume()
  const { token } = await keysClient(user).make('loader', grantsOf({}, ['public']))
  const withOldKey = await begunImport(t, house, token)
  await keysClient(user).regenerate('loader')
  assert.equal((await withOldKey.refused()).status, 401)
  const listed = await fetch(`${user.base}/api/v1/imports?all=true&api_key=${user.masterToken}`)
  assert.deepEqual(((await listed.json()) as { imports: string[] }).imports, [])
  await house.nothingLeft()
})

test('a suspension ends a part of a resumable upload, and the bytes that arrived count', async (t) => {
  const house = await setupImports(t)
  const { user } = house
  const { suspend, resume } = suspending(t, house)
  const api = uploadApi(user)
  const at = await api.make(1_000_000)
  const part = sending(t, 'PATCH', at, {
    ...basic(user.username, user.masterToken),
    'tus-resumable': '1.0.0',
    'content-type': 'application/offset+octet-stream',
    'upload-offset': '0',
  })
  part.sent.write('n\n1\n')
  await eventually(async () => assert.equal((await api.show(at)).state, 'open'))
  await suspend()
  const { status, text: told } = await part.refused()
  assert.equal(status, 403, told)
  assert.match(told, /The invoice of May is open/)
  await resume()
  assert.ok((await api.offsetOf(at)) >= 4)
})

const receiver = await openReceiver()

test('webhooks of a suspended account send nothing; afterwards each message is retried', async (t) => {
  const house = await setup(t, { worker: true, config: { webhooks: [receiver.host] } })
  const { user, createUser } = house
  const { suspend, resume } = suspending(t, house)
  const other = await createUser()
  let status = 500
  const hook = receiver.address(() => status)
  await ranJob(user, 'select 1', { notify: [{ url: hook.url }] })
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=pending')
    assert.equal(body.deliveries[0].response_status, 500)
  })
  await suspend()
  status = 204
  await hurry(house)
  await hurry(house, 'gives_up_at')
  // Other accounts are served meanwhile, several times.
  for (let turn = 0; turn < 3; turn++) {
    const others = receiver.address()
    await ranJob(other, 'select 1', { notify: [{ url: others.url }] })
    await others.atLeast(1)
  }
  assert.equal(hook.got().length, 1)
  await resume()
  await hook.atLeast(2)
  await eventually(async () => {
    const { body } = await ask(user, 'GET', 'webhooks/deliveries?status=delivered')
    assert.equal(body.deliveries.length, 1)
  })
})

test('the reason of a suspension is not shown to readers of a link, a named map or a named layer', async (t) => {
  const house = await setup(t)
  const { user, admin } = house
  const { suspend, resume } = suspending(t, house)
  await user.sql('create table gate (n int)')
  const sql = `select 1 as cartodb_id, st_point(0, 0, 3857) as the_geom_webmercator
    where not exists (select from gate) or pg_sleep(60) is not null`
  await makeMap(user, {
    version: '0.0.1',
    name: 'slow',
    layergroup: { layers: [{ id: 'rows', options: { sql } }] },
  })
  const anyone = { token: '' }
  const made = await askMaps(user, '/api/v1/map/named/slow', { ...anyone, body: {} })
  const layers = [{ type: 'named', options: { name: 'slow' } }]
  const mixed = await askForMap(user, { layers }, anyone)
  const idOf = ({ status, body }: { status: number; body: unknown }) => {
    assert.equal(status, 200, JSON.stringify(body))
    return (body as { layergroupid: string }).layergroupid
  }
  const [named, layered] = [idOf(made), idOf(mixed)]
  const { body } = await ask(user, 'POST', 'exports', { q: 'select pg_sleep(60)' })
  await user.sql('insert into gate values (1)')
  for (const read of [
    () => fetch(body.url).then(async (answer) => [answer.status, await answer.text()] as const),
    () => tileOf(user, named),
    () => tileOf(user, layered),
  ]) {
    const reading = read()
    await untilAsleep(admin, user)
    await suspend()
    const [status, told] = await reading
    assert.equal(status, 403, told)
    assert.match(told, /This account is suspended/)
    assert.doesNotMatch(told, /invoice/)
    await resume()
  }
})

async function tileOf(user: TestUser, id: string): Promise<readonly [number, string]> {
  const { status, bytes } = await askMapTile(user, id, '/0/0/0.mvt', { token: '' })
  return [status, bytes.toString()]
}

test('the time of a suspension does not count for an import whose file is on another machine', async (t) => {
  const house = await setupImports(t, { importsPerWorker: 0 })
  const { user, service, spool } = house
  const { suspend, resume } = suspending(t, house)
  const { control } = service.services.databases
  const { item_queue_id: id } = (await (await house.post('far.csv', 'n\n1\n')).json()) as {
    item_queue_id: string
  }
  await control.query('update cartage.imports set spool = $2 where id = $1', [id, randomUUID()])
  await control.query(
    `update cartage.jobs set created_at = created_at - interval '2 days', revision = revision + 1, write_id = null
     where id = $1`,
    [id],
  )
  await suspend()
  await resume()
  await startWorkerProcess(t, house, { CARTAGE_IMPORT_DIR: spool })
  const revision = async () => {
    const { rows } = await control.query('select status, revision from cartage.jobs where id = $1', [id])
    assert.ok(['pending', 'running'].includes(rows[0].status), rows[0].status)
    return Number(rows[0].revision)
  }
  const first = await revision()
  const looks = eventually(async () => assert.ok((await revision()) >= first + 4), 30_000)
  await looks
  await control.query(
    `update cartage.users set resumed_at = resumed_at - interval '25 hours' where id = $1`,
    [user.account.userId],
  )
  assert.equal((await house.wait(id)).state, 'failure')
})

test('an import that a suspension interrupts while it loads keeps all its attempts', async (t) => {
  const house = await setupImports(t)
  const { user, admin } = house
  const { suspend, resume } = suspending(t, house)
  await user.sql(`create table gate (n int); create table slow (n int);
    create function wait() returns trigger language plpgsql as
      'begin perform pg_sleep(case when exists (select from gate) then 0 else 60 end); return new; end';
    create trigger wait before insert on slow for each row execute function wait()`)
  const posted = await house.post('slow.csv', 'n\n1\n', { table_name: 'slow', collision_strategy: 'append' })
  const { item_queue_id: id } = (await posted.json()) as { item_queue_id: string }
  for (let round = 0; round < 4; round++) {
    await untilAsleep(admin, user)
    await suspend()
    if (round === 3) await user.sql('insert into gate values (1)')
    await resume()
  }
  const { state, get_error_text: failure } = await house.wait(id)
  assert.equal(state, 'complete', JSON.stringify(failure))
  assert.deepEqual((await user.sql('select n from slow')).rows, [{ n: 1 }])
})
