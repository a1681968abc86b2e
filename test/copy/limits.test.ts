import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { createUser } from '../../src/accounts/create-user.ts'
import {
  assertAtRest,
  copyfrom,
  copyto,
  copyUrl,
  countRows,
  createTable,
  csvLines,
  readReply,
} from '../support/postgres/copying.ts'
import { type Flow, startProxy } from '../support/postgres/tcp-proxy.ts'
import { newInstallation } from '../support/service/installation.ts'
import { setup, type TestUser } from '../support/service/setup.ts'

const intoT = 'COPY t FROM STDIN (FORMAT csv)'

test('a body beyond the limit is refused, with or without Content-Length, and nothing is stored', async (t) => {
  const at = await setup(t, { config: { copyMaxBytes: 100 * 1024 } })
  const { user } = at
  await createTable(user)
  const body = Buffer.from(csvLines(20_000))
  const told = await copyfrom(user, intoT, body)
  const untold = await copyfrom(user, intoT, Readable.from([body.subarray(0, 90_000), body.subarray(90_000)]))
  for (const reply of [told, untold]) {
    const expected = {
      error: ['COPY FROM maximum POST size of 100 KB exceeded'],
      code: 'copy-too-large',
    }
    assert.deepEqual([reply.status, reply.body], [400, expected])
  }
  assert.equal(await countRows(user), 0)
  await assertAtRest(at, user)
  // The limit counts bytes as sent: compressed, the same rows fit.
  assert.equal((await copyfrom(user, intoT, gzipSync(body), { 'content-encoding': 'gzip' })).status, 200)
})

test('the time limit of a copy includes the waits before it starts', async (t) => {
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, installation.keys.adminUrl)
  const { services, url } = await installation.start({
    keys: { adminUrl: proxy.url },
    config: { copyTimeoutMs: 2_500 },
  })
  const { account, masterToken } = await createUser(services.installation, {
    username: 'alice',
    quotaBytes: 10_000_000,
  })
  const user = { base: `${url}/user/alice`, username: 'alice', masterToken, account } as TestUser
  const q = encodeURIComponent('create table t (id int, name text)')
  assert.equal((await fetch(`${user.base}/api/v2/sql?q=${q}&api_key=${masterToken}`)).status, 200)
  const send = () => copyfrom(user, intoT, csvLines(10))
  const held: Flow[] = []
  proxy.watch((flow, text) => {
    if (held.length > 0 || !text.includes('cdb_userdatasize')) return
    held.push(flow)
    flow.holdAnswers()
  })
  const began = performance.now()
  const { status, body } = await send()
  assert.deepEqual([status, (body as { code: string }).code], [429, 'statement-timeout'])
  assert.ok(performance.now() - began < 8_000)
  held[0]!.release()
  assert.equal((await send()).status, 200)
})

test('the default limit of a body is 2 GB', async (t) => {
  const { user } = await setup(t)
  const sent = request(copyUrl(user, 'copyfrom', intoT), {
    agent: false,
    method: 'POST',
    headers: { 'content-length': 2 * 1024 ** 3 + 1 },
  })
  sent.write('1,one\n')
  const [response] = await once(sent, 'response')
  const { status, body } = await readReply(response)
  assert.deepEqual([status, body.error], [400, ['COPY FROM maximum POST size of 2 GB exceeded']])
  sent.on('error', () => undefined).destroy()
})

test('a client that stops sending is disconnected, with a reason it can read', async (t) => {
  const at = await setup(t, { config: { copyIdleMs: 400 } })
  const { user } = at
  await createTable(user)
  for (const encoding of ['identity', 'gzip']) {
    const sent = openUpload(user, { 'content-encoding': encoding })
    sent.write(encoding === 'gzip' ? gzipSync(csvLines(1000)) : csvLines(1000))
    const [response] = await once(sent, 'response')
    const { status, body } = await readReply(response)
    assert.deepEqual([status, body.error], [408, ['The client sent nothing for 0.4 seconds']])
    sent.destroy()
  }
  assert.equal(await countRows(user), 0)
  await assertAtRest(at, user)
})

test('a client that sends slowly but steadily is not disconnected', async (t) => {
  const { user } = await setup(t, { config: { copyIdleMs: 400 } })
  await createTable(user)
  const sent = openUpload(user)
  for (let line = 0; line < 8; line += 1) {
    sent.write(`${line},one\n`)
    await sleep(100)
  }
  sent.end()
  const [response] = await once(sent, 'response')
  assert.equal((await readReply(response)).body.total_rows, 8)
})

test('the time limit for a client to send does not count while the database is slow', async (t) => {
  const { user } = await setup(t, { config: { copyIdleMs: 400 } })
  await createTable(user)
  await user.sql(`
    create function slow() returns trigger language plpgsql as $$
      begin if new.id = 0 then perform pg_sleep(1.5); end if; return new; end $$;
    create trigger slow before insert on t for each row execute function slow()`)
  const lines = csvLines(400_000)
  assert.equal((await copyfrom(user, intoT, lines)).body.total_rows, 400_000)
})

test('a client that stops reading is disconnected', async (t) => {
  const at = await setup(t, { config: { copyIdleMs: 400 } })
  const endless = 'COPY (SELECT generate_series(1, 1000000000), repeat($$x$$, 200)) TO STDOUT'
  const sent = request(copyUrl(at.user, 'copyto', endless), { agent: false }).end()
  const [response] = await once(sent, 'response')
  response.on('error', () => undefined).pause()
  await assertAtRest(at, at.user)
  sent.on('error', () => undefined).destroy()
})

test('a copy beyond its time limit is ended with the context limit', async (t) => {
  const at = await setup(t, { config: { copyTimeoutMs: 800 } })
  const { user } = at
  await createTable(user)
  const slow = await copyto(user, 'COPY (SELECT pg_sleep(30)) TO STDOUT')
  assert.deepEqual([slow.status, slow.body.context], [429, 'limit'])

  // statement_timeout does not end a COPY that waits for its client.
  const trickle = openUpload(user)
  trickle.write('1,one\n')
  const [response] = await once(trickle, 'response')
  const { status, body } = await readReply(response)
  assert.deepEqual([status, body.context], [429, 'limit'])
  trickle.destroy()
  assert.equal(await countRows(user), 0)
  await assertAtRest(at, user)
})

test('SQL that catches the cancel or lifts its own timeout is still ended at the limit', async (t) => {
  const at = await setup(t, { config: { copyTimeoutMs: 600 } })
  const { user } = at
  await user.sql(`
    create function stubborn() returns int language plpgsql as $$
    begin
      perform set_config('statement_timeout', '0', false);
      loop
        begin perform pg_sleep(60); exception when query_canceled then null; end;
      end loop;
    end $$`)
  const reply = await copyto(user, 'COPY (SELECT stubborn()) TO STDOUT')
  assert.deepEqual([reply.status, reply.body.context], [429, 'limit'])
  await assertAtRest(at, user)
})

test('beyond the limit of concurrent copies a user waits briefly and is refused; other users are not affected', async (t) => {
  const at = await setup(t, { config: { copiesPerUser: 2, copiesPerProcess: 4, copyWaitMs: 300 } })
  const { user } = at
  const other = await at.createUser()
  await createTable(user)
  await createTable(other)
  const held = [await holdUpload(t, user), await holdUpload(t, user)]
  const refused = await copyfrom(user, intoT, '1,one\n')
  assert.deepEqual(
    [refused.status, refused.headers['retry-after'], refused.body.context],
    [429, '1', 'limit'],
  )
  assert.equal((await copyfrom(other, intoT, '1,one\n')).status, 200)

  const waiting = copyfrom(user, intoT, '1,one\n')
  await sleep(50)
  held[0]!.end()
  assert.equal((await waiting).status, 200)
  held[1]!.end()
  await assertAtRest(at, user)
})

test('the limit of concurrent copies of a process does not hold up SQL requests', async (t) => {
  const at = await setup(t, { config: { copiesPerUser: 2, copiesPerProcess: 2, copyWaitMs: 100 } })
  const { user } = at
  const other = await at.createUser()
  await createTable(user)
  const held = [await holdUpload(t, user), await holdUpload(t, user)]
  assert.equal((await copyto(other, 'COPY (SELECT 1) TO STDOUT')).status, 429)
  const answer = await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${user.masterToken}`)
  assert.equal(answer.status, 200)
  for (const each of held) each.end()
  await assertAtRest(at, user)
})

function openUpload(user: TestUser, headers: Record<string, string> = {}): ClientRequest {
  const sent = request(copyUrl(user, 'copyfrom', intoT), { agent: false, method: 'POST', headers })
  return sent.on('error', () => undefined)
}

/** An upload that has begun and stays open until the test ends it. */
async function holdUpload(t: TestContext, user: TestUser): Promise<ClientRequest> {
  const sent = openUpload(user, { expect: '100-continue' })
  t.after(() => sent.destroy())
  sent.flushHeaders()
  await once(sent, 'continue')
  sent.write('1,one\n')
  return sent.on('response', (response) => response.resume())
}
