import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { grantsOf, keysClient } from '../support/keys/keys-client.ts'
import {
  assertAtRest,
  copyfrom,
  copyto,
  copyUrl,
  countRows,
  createTable,
  csvLines,
  readReply,
  send,
} from '../support/postgres/copying.ts'
import { cases } from '../support/search/cases.ts'
import { eventually, type Setup, setup } from '../support/service/setup.ts'

const intoT = 'COPY t FROM STDIN (FORMAT csv)'
const seed = Number(process.env.CARTAGE_TEST_SEED) || randomInt(2 ** 31)

test('an upload cut at any offset stores nothing', async (t) => {
  t.diagnostic(`CARTAGE_TEST_SEED=${seed}`)
  const at = await setup(t)
  await createTable(at.user)
  const lines = Buffer.from(csvLines(12_000))
  const forms = [
    { body: lines, headers: `Content-Length: ${lines.length}` },
    { body: inChunks(lines), headers: 'Transfer-Encoding: chunked' },
    { body: inChunks(gzipSync(lines)), headers: 'Transfer-Encoding: chunked\r\nContent-Encoding: gzip' },
  ]
  const random = randomNumbers(seed)
  const cuts = Array.from({ length: cases(120) }, (_, number) => {
    const form = forms[number % forms.length]!
    return {
      ...form,
      offset: Math.floor(random() * form.body.length),
      isAbrupt: random() < 0.5,
      isPatient: random() < 0.2,
    }
  })
  // Bugs hide at both ends: cut there at every byte.
  for (const form of forms) {
    for (const left of [1, 2, 3, 5, 7])
      cuts.push({ ...form, offset: form.body.length - left, isAbrupt: false, isPatient: true })
  }
  await inParallel(6, cuts, (cut) => cutUpload(at, cut))
  await assertAtRest(at, at.user)
  assert.equal(await countRows(at.user), 0)
  for (const { body, headers } of forms)
    await cutUpload(at, { body, headers, offset: body.length, isAbrupt: false, isPatient: true })
  await eventually(async () => assert.equal(await countRows(at.user), 36_000))
})

test('a copy whose key is deleted or replaced while it runs is refused for that reason and stores nothing', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  const keys = keysClient(user)
  const endings = [() => keys.regenerate('k'), () => keys.remove('k')]
  let { token } = await keys.make('k', grantsOf({ t: ['select', 'insert'] }))
  for (const end of endings) {
    const body = new Readable({ read() {} })
    body.push(csvLines(1_000))
    const upload = send(copyUrl(user, 'copyfrom', intoT, token), { method: 'POST' }, body)
    const download = send(copyUrl(user, 'copyto', 'COPY (SELECT pg_sleep(60)) TO STDOUT', token))
    await eventually(async () => {
      const { rowCount } = await at.admin(
        `select from pg_stat_activity where datname = $1 and application_name = 'cartage copy' and state = 'active'`,
        [user.account.database],
      )
      assert.equal(rowCount, 2)
    })
    token = (await end()).body.token
    for (const { status, body: refused } of [await upload, await download]) {
      assert.equal(status, 401)
      assert.match(String(refused.hint), /^The key was valid when the request arrived, but no longer is/)
    }
    body.destroy()
  }
  await assertAtRest(at, user)
  assert.equal(await countRows(user), 0)
})

test('a client that disconnects while PostgreSQL waits for a lock ends the wait', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  const holder = user.sql('begin; lock table t; select pg_sleep(3); commit')
  await eventually(async () => assert.equal((await locksOnT(at, 'AccessExclusiveLock')).length, 1))
  const sent = request(copyUrl(user, 'copyfrom', intoT), { agent: false, method: 'POST' })
  sent.on('error', () => undefined).end('1,one\n')
  await eventually(async () => assert.equal((await locksOnT(at, 'RowExclusiveLock')).length, 1))
  sent.destroy()
  await eventually(async () => assert.equal((await locksOnT(at, 'RowExclusiveLock')).length, 0), 1_500)
  await assertAtRest(at, user)
  await holder
  assert.equal(await countRows(user), 0)
})

test('a client that disconnects while a trigger runs ends the trigger', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  await user.sql(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create trigger slow before insert on t for each row execute function slow()`)
  const sent = request(copyUrl(user, 'copyfrom', intoT), { agent: false, method: 'POST' })
  sent.on('error', () => undefined).end('1,one\n')
  await eventually(async () => assert.deepEqual(await waitEvents(at), ['PgSleep']))
  sent.destroy()
  await assertAtRest(at, user)
  assert.equal(await countRows(user), 0)
})

test('a client that disconnects before its key was looked up leaves no copy running', async (t) => {
  const at = await setup(t, { isIsolated: true })
  const { user } = at
  await createTable(user)
  const { namespace } = at.service.services.config
  const held = at.admin(
    'begin; lock table cartage.api_keys; select pg_sleep(1); commit',
    undefined,
    namespace,
  )
  const waiting = async (wait: string) => {
    const { rows } = await at.admin(
      'select from pg_stat_activity where datname = $1 and wait_event_type = $2',
      [namespace, wait],
    )
    return rows.length
  }
  await eventually(async () => assert.equal(await waiting('Timeout'), 1))
  const stranger = { ...user, masterToken: 'default_public' }
  const requests = [
    request(copyUrl(user, 'copyfrom', intoT), { agent: false, method: 'POST' }),
    // With another key: concurrent look-ups of the same key share one query.
    request(copyUrl(stranger, 'copyto', 'COPY (SELECT pg_sleep(60)) TO STDOUT'), { agent: false }),
  ]
  for (const [place, sent] of requests.entries()) {
    sent.on('error', () => undefined).flushHeaders()
    await eventually(async () => assert.equal(await waiting('Lock'), place + 1))
    sent.destroy()
  }
  await held
  assert.equal((await copyto(user, 'COPY (SELECT 1) TO STDOUT')).status, 200)
  await assertAtRest(at, user)
  assert.equal(await countRows(user), 0)
})

test('a backend that is terminated during an upload gives 503, and nothing is stored', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  const sent = request(copyUrl(user, 'copyfrom', intoT), { agent: false, method: 'POST' })
  const answered = once(sent, 'response')
  sent.write(csvLines(5_000))
  // Wait until rows are stored: a session that ends before its COPY began is replaced, and the copy continues.
  await eventually(async () => assert.equal(await storedSoFar(at), 5_000))
  await endBackends(at)
  const [response] = await answered
  const reply = await readReply(response)
  sent.on('error', () => undefined).destroy()
  assert.deepEqual([reply.status, reply.body.error], [503, ['The database is not reachable at the moment']])
  await assertAtRest(at, user)
  assert.equal(await countRows(user), 0)
  assert.equal((await copyfrom(user, intoT, '1,one\n')).status, 200)
})

test('losing the backend while it stores rows leaves the outcome unknown, and the answer says so', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  await user.sql(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create constraint trigger slow after insert on t deferrable initially deferred
      for each row execute function slow()`)
  const answered = copyfrom(user, intoT, '1,one\n')
  await eventually(async () => assert.deepEqual(await waitEvents(at), ['PgSleep']))
  await endBackends(at)
  const { status, body } = await answered
  assert.equal(status, 503)
  assert.match((body.error as string[])[0]!, /check whether the rows are there/)
})

test('a client that is still sending can read why it was refused', async (t) => {
  const at = await setup(t)
  const { user } = at
  await createTable(user)
  const bad = `x,one\n${csvLines(100_000)}`
  const lots = () => Readable.from(Array.from({ length: 40 }, () => Buffer.from(bad)))
  const early = await send(copyUrl(user, 'copyfrom', intoT, 'wrong'), { method: 'POST' }, lots())
  assert.deepEqual([early.status, early.body.error], [401, ['Unauthorized']])
  assert.equal(early.headers.connection, 'close')
  const late = await copyfrom(user, intoT, lots())
  assert.equal(late.status, 400)
  assert.match(String(late.body.context), /line 1, column id/)
  await assertAtRest(at, user)
})

test('a client that reads only after it has sent everything gets the refusal too', async (t) => {
  const { url, user } = await setup(t)
  const body = Buffer.alloc(40_000_000, '1,one\n')
  const { pathname, search } = new URL(copyUrl(user, 'copyfrom', 'COPY nowhere FROM STDIN'))
  for (const connection of ['close', 'keep-alive']) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').pause()
    socket.write(`POST ${pathname}${search} HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\n`)
    socket.write(`Content-Length: ${body.length}\r\n\r\n`)
    await new Promise((resolve, reject) => socket.on('error', reject).write(body, resolve))
    const text = (await buffer(socket)).toString()
    assert.match(text, /^HTTP\/1.1 400 /)
    assert.match(text, /relation \\"nowhere\\" does not exist/)
  }
})

test('a request refused after its whole body arrived keeps the connection open', async (t) => {
  const { user } = await setup(t)
  await createTable(user)
  const reply = await send(
    copyUrl(user, 'copyfrom', intoT),
    { method: 'POST', headers: { connection: 'keep-alive' } },
    'x,1\n',
  )
  assert.deepEqual([reply.status, reply.headers.connection], [400, 'keep-alive'])
})

type Cut = Readonly<{ body: Buffer; headers: string; offset: number; isAbrupt: boolean; isPatient: boolean }>

/** Sends part of a request, then closes the connection. A patient client waits a moment before closing. */
async function cutUpload(
  { url, user }: Setup,
  { body, headers, offset, isAbrupt, isPatient }: Cut,
): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  const closed = once(socket, 'close')
  const { pathname, search } = new URL(copyUrl(user, 'copyfrom', intoT))
  socket.write(`POST ${pathname}${search} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`)
  socket.write(body.subarray(0, offset))
  if (isPatient) await sleep(30)
  if (offset === body.length) await once(socket, 'data')
  hangUp(socket, isAbrupt)
  await closed
}

function hangUp(socket: Socket, isAbrupt: boolean): void {
  if (isAbrupt) socket.resetAndDestroy()
  else socket.resume().end()
}

function inChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let start = 0; start < bytes.length; start += 5_000) {
    const part = bytes.subarray(start, start + 5_000)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

async function inParallel<T>(
  width: number,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}

/** Random numbers that repeat for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function locksOnT({ admin, user }: Setup, mode: string): Promise<unknown[]> {
  const { database } = user.account
  const { rows } = await admin(
    `select pid from pg_locks where relation = 'public.t'::regclass and mode = $1`,
    [mode],
    database,
  )
  return rows
}

async function waitEvents({ admin, user }: Setup): Promise<string[]> {
  const { rows } = await admin(
    `select wait_event from pg_stat_activity where application_name = 'cartage copy' and datname = $1 and state = 'active'`,
    [user.account.database],
  )
  return rows.map(({ wait_event }) => wait_event)
}

async function storedSoFar({ admin, user }: Setup): Promise<number> {
  const { rows } = await admin(
    'select tuples_processed::int as rows from pg_stat_progress_copy where datname = $1',
    [user.account.database],
  )
  return rows[0]?.rows ?? 0
}

async function endBackends({ admin, user }: Setup): Promise<void> {
  await admin(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cartage copy' and datname = $1`,
    [user.account.database],
  )
}
