import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { randomName, setup, type TestUser } from '../support/service/setup.ts'

test("extra bytes after a request's Content-Length do not change its answer", async (t) => {
  const { url, user } = await setup(t)
  await user.sql('create table log (n int)')
  const insert = requestFor(user, `/sql/copyfrom?q=${encodeURIComponent('copy log from stdin')}`, '1\n')
  // The extra bytes arrive with it, while it is stored, or after its answer.
  for (const delayMs of [0, 1, 2, 3, 5, 8]) {
    const before = await countLog(user)
    const answer = await exchange(url, insert, delayMs, '2\n3\n')
    assert.match(answer, /^HTTP\/1.1 200 OK/, `${delayMs} ms`)
    assert.match(answer, /"total_rows":1}/, `${delayMs} ms`)
    assert.equal(await countLog(user), before + 1, `${delayMs} ms`)
  }
})

test('each of several pipelined requests gets its own answer when invalid HTTP follows them', async (t) => {
  const { url, user } = await setup(t)
  const slow = (n: number) => requestFor(user, '/sql', `q=select ${n} as n from pg_sleep(0.2)`)
  const cut = requestFor(user, '/sql', 'q=select 3').replace(
    /Content-Length: \d+/,
    'Transfer-Encoding: chunked',
  )
  for (const rest of ['nonsense\r\n\r\n', cut]) {
    const answer = await exchange(url, slow(1) + slow(2), 50, rest)
    assert.deepEqual(answer.match(/HTTP\/1.1 \d+|"n":\d/g), [
      'HTTP/1.1 200',
      '"n":1',
      'HTTP/1.1 200',
      '"n":2',
    ])
  }
})

test('an Idempotency-Key works behind a thousand other headers', async (t) => {
  const { url, user } = await setup(t)
  await user.sql('create table log (n int)')
  const key = `${'a:\r\n'.repeat(2_000)}Idempotency-Key: ${randomName('once')}\r\nConnection: close`
  const insert = requestFor(user, '/sql', 'q=insert into log values (1)', key)
  assert.match(await exchange(url, insert), /^HTTP\/1.1 200 /)
  assert.match(await exchange(url, insert), /^HTTP\/1.1 409 /)
  assert.equal(await countLog(user), 1)
})

test('an upload with a compressing Transfer-Encoding is refused, not stored compressed', async (t) => {
  const { url, user } = await setup(t)
  await user.sql('create table log (n int)')
  const path = `/sql/copyfrom?q=${encodeURIComponent('copy log from stdin')}`
  const chunks = requestFor(user, path, '2\r\n1\n\r\n0\r\n\r\n', 'Connection: close')
  const send = (coding: string) =>
    exchange(url, chunks.replace(/Content-Length: \d+/, `Transfer-Encoding: ${coding}`))
  assert.match(await send('gzip, chunked'), /^HTTP\/1.1 415 /)
  assert.match(await send('Chunked'), /^HTTP\/1.1 200 /)
  assert.equal(await countLog(user), 1)
})

function requestFor(
  { base, username, masterToken }: TestUser,
  path: string,
  body: string,
  more = 'X: y',
): string {
  const { pathname } = new URL(base)
  const credential = Buffer.from(`${username}:${masterToken}`).toString('base64')
  const type = 'Content-Type: application/x-www-form-urlencoded'
  return `POST ${pathname}/api/v2${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${credential}\r\n${type}\r\nContent-Length: ${body.length}\r\n${more}\r\n\r\n${body}`
}

/** All that the service answers before it closes the connection. */
async function exchange(url: string, request: string, delayMs = 0, rest = ''): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay()
  await once(socket, 'connect')
  socket.write(request)
  const answer = text(socket)
  if (rest) {
    await sleep(delayMs)
    socket.write(rest)
  }
  return answer
}

async function countLog({ sql }: TestUser): Promise<number> {
  return (await sql('select from log')).rowCount!
}
