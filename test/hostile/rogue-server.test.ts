import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { hostFromUrl } from '../../src/postgres/hosts.ts'
import { cartage } from '../support/http/call.ts'
import { setup } from '../support/service/setup.ts'

const password = 'NotForRogues-4711'

for (const [way, request] of [
  ['in clear', authentication(3)],
  ['as an MD5 hash', authentication(5, Buffer.from('salt'))],
] as const) {
  test(`a server that asks for a password ${way} does not get it`, async (t) => {
    const rogue = await rogueServer(t, request)
    const env = {
      CARTAGE_DATABASE_URL: `postgres://postgres:${password}@127.0.0.1:${rogue.port}/postgres`,
      CARTAGE_SECRET: 'x'.repeat(32),
    }
    const { code, err } = await cartage(env, 'user', 'list')
    assert.equal(code, 1)
    assert.match(err, new RegExp(`asked for the password ${way}.*scram-sha-256`))
    assert.equal(rogue.passwords(), 0, 'it was told something')
    assert.doesNotMatch(rogue.heard(), /NotForRogues/)
  })
}

test("nor does a server at the former address of a host's database", async (t) => {
  const rogue = await rogueServer(t, authentication(3))
  const { service, user } = await setup(t, { isIsolated: true })
  const { hosts } = service.services.databases
  const host = hosts.get(user.account.hostId)
  await service.services.databases.query.closeDatabase(host.id, user.account.database)
  hosts.register(hostFromUrl(host.id, host.name, `postgresql://postgres@127.0.0.1:${rogue.port}/postgres`))
  try {
    const response = await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${user.masterToken}`)
    assert.equal(response.status, 503)
    assert.match(await response.text(), /asked for the password in clear/)
    assert.equal(rogue.passwords(), 0)
  } finally {
    hosts.register(host)
  }
})

/** Speaks just enough of PostgreSQL's protocol to ask for a password. */
async function rogueServer(t: TestContext, request: Buffer) {
  let heard = ''
  let passwords = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (startUp) => {
      heard += startUp.toString('latin1')
      socket.write(request)
      socket.on('data', (answer) => {
        heard += answer.toString('latin1')
        if (answer[0] === 0x70) passwords += 1
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, heard: () => heard, passwords: () => passwords }
}

function authentication(code: number, rest: Buffer = Buffer.alloc(0)): Buffer {
  const message = Buffer.alloc(9)
  message.write('R', 0, 'latin1')
  message.writeInt32BE(8 + rest.length, 1)
  message.writeInt32BE(code, 5)
  return Buffer.concat([message, rest])
}
