import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, post } from '../../support/http/ask.ts'
import { openRaw, rawRequest } from '../../support/http/raw-request.ts'
import { basic, eventually, type Setup, setup, type TestUser } from '../../support/service/setup.ts'

const megabyte = 1024 ** 2
const config = { bodyMemoryBytes: 64 * megabyte, requestTimeoutMs: 30_000 }

test('unfinished bodies without a key beyond their share are refused before they are sent, and others are served', async (t) => {
  const house = await setup(t, { config })
  const other = await house.createUser()
  const refused = await sendHeads(t, house, 40, {})
  assert.ok(refused >= 36, `${refused} of 40 are refused`)
  const body = (user: TestUser) => ({ headers: basic(user.username, user.masterToken), body: longForm() })
  for (const user of [house.user, other]) assert.equal((await post(user, body(user))).status, 200)
})

test("unfinished bodies with a key beyond their account's share are refused, and others are served", async (t) => {
  const house = await setup(t, { config })
  const other = await house.createUser()
  const refused = await sendHeads(t, house, 40, basic(house.user.username, house.user.masterToken))
  assert.ok(refused >= 35, `${refused} of 40 are refused`)
  const headers = basic(other.username, other.masterToken)
  assert.equal((await post(other, { headers, body: longForm() })).status, 200)
  // Without a key too.
  assert.equal((await ask(other, 'select 1', { api_key: '' })).status, 200)
})

test('a body without a length is refused once too much of it has arrived', async (t) => {
  const { user, url } = await setup(t, { config: { ...config, bodyMemoryBytes: 4 * megabyte } })
  const { socket, text } = await openRaw(t, url)
  const headers = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' }
  socket.write(rawRequest({ method: 'POST', path: `${new URL(user.base).pathname}/api/v2/sql`, headers }))
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  await eventually(() => {
    socket.write(chunk)
    assert.match(text(), /^HTTP\/1.1 503 .*retry-after: 1\r\n.*"code":"bodies-exhausted"/is)
  })
})

test('memory of bodies is freed when they have been answered or their clients have disconnected', async (t) => {
  const house = await setup(t, { config })
  const { user } = house
  await sendHeads(t, house, 4, basic(user.username, user.masterToken), true)
  const headers = basic(user.username, user.masterToken)
  for (let n = 0; n < 8; n += 1) {
    await eventually(async () => assert.equal((await post(user, { headers, body: longForm() })).status, 200))
  }
})

const longForm = () => new URLSearchParams({ q: `select 1 /*${'x'.repeat(5 * megabyte)}*/` })

/** Announces bodies of 15 MB and sends a little of each. Returns how many were refused. */
async function sendHeads(
  t: Parameters<typeof setup>[0],
  { user, url }: Setup,
  count: number,
  credential: Record<string, string>,
  leaves = false,
): Promise<number> {
  const headers = {
    'Content-Length': 15 * megabyte,
    'Content-Type': 'application/x-www-form-urlencoded',
    ...credential,
  }
  const path = `${new URL(user.base).pathname}/api/v2/sql`
  const connections = await Promise.all(
    Array.from({ length: count }, async () => {
      const connection = await openRaw(t, url)
      connection.socket.write(rawRequest({ method: 'POST', path, headers, body: 'q=select 1' }))
      return connection
    }),
  )
  if (leaves) for (const { socket } of connections) socket.destroy()
  else await eventually(async () => assert.ok(refusedOf(connections) >= count - mostHeld(credential)))
  return refusedOf(connections)
}

/** Bodies of 15 MB held at most: requests without a key get a quarter of what a key gets. */
const mostHeld = (credential: Record<string, string>) => ('authorization' in credential ? 5 : 4)

const refusedOf = (connections: readonly { text: () => string }[]) =>
  connections.filter(({ text }) => /^HTTP\/1.1 503 .*"code":"bodies-exhausted"/s.test(text())).length
