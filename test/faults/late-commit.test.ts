import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { repairKeys } from '../../src/keys/repair-keys.ts'
import { adminTarget } from '../../src/postgres/session-target.ts'
import type { RunningService } from '../../src/service/service.ts'
import { startProxy, type TcpProxy } from '../support/postgres/tcp-proxy.ts'
import { admin, newUser } from '../support/postgres/two-hosts.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually } from '../support/service/setup.ts'

test('work with an unknown outcome after a lost connection is undone only once it is known not to have committed', async (t) => {
  const house = await openHouse(t)
  for (const [delayMs, isKnown] of delays) {
    await t.test(`a key whose commit comes ${delayMs} ms late works`, () => lateKey(house, delayMs, isKnown))
    await t.test(`a user whose commit comes ${delayMs} ms late is complete`, () =>
      lateUser(house, delayMs, isKnown),
    )
  }
  await t.test('an organization whose commit comes late is complete', () => lateOrganization(house))
  await t.test('repair makes a new role without grants for a key that has lost its role', () =>
    lostRole(house),
  )
})

/** The service waits for a commit within the lock timeout; a later one has an unknown outcome at first. */
const delays = [
  [700, true],
  [4_000, false],
] as const

async function lateKey({ client, ...house }: House, delayMs: number, isKnown: boolean): Promise<void> {
  const name = `late-${delayMs}`
  const wasCut = delayCommitAfter(house.proxy, 'insert into cartage.api_keys', delayMs)
  const created = client.keys.create({ name, grants })
  if (isKnown) await created
  else await assert.rejects(created)
  wasCut()
  const { token } = await eventually(() => client.keys.read(name), 10_000)
  await house.works('somebody', token, 'select 1')
}

async function lateUser({ operator, ...house }: House, delayMs: number, isKnown: boolean): Promise<void> {
  const username = `late-${delayMs}`
  const api_key = `a-token-brought-along-${delayMs}`
  const wasCut = delayCommitAfter(house.proxy, 'insert into cartage.api_keys', delayMs)
  const created = operator.users.create({ username, api_key })
  if (isKnown) await created
  else await assert.rejects(created)
  wasCut()
  await eventually(() => house.works(username, api_key), 10_000)
}

async function lateOrganization({ operator, proxy, works }: House): Promise<void> {
  const wasCut = delayCommitAfter(proxy, 'update cartage.organizations', 700)
  const { owner } = await operator.organizations.create({ name: 'late', owner: { username: 'owner' } })
  wasCut()
  await works('owner', owner.api_key)
}

async function lostRole({ client, service, ask, works }: House): Promise<void> {
  await client.sql('create table secrets ()')
  const tables = [{ schema: 'public', name: 'secrets', permissions: ['select' as const] }]
  const [apis] = grants
  const { token } = await client.keys.create({
    name: 'reader',
    grants: [apis, { type: 'database', tables }],
  })
  await dropRoleOf(service, 'reader')
  await repairKeys(service.services.installation)
  await works('somebody', token, 'select 1')
  assert.equal((await ask('somebody', token, 'select * from secrets')).status, 403)
  assert.deepEqual((await client.keys.read('reader')).grants[1], grants[1])
  await client.keys.delete('reader')
}

type House = Awaited<ReturnType<typeof openHouse>>

async function openHouse(t: TestContext) {
  const installation = await newInstallation(t)
  const proxy = await startProxy(t, installation.keys.adminUrl)
  const service = await installation.start({ keys: { adminUrl: proxy.url } })
  const operator = admin(service)
  const client = await newUser(service, 'somebody')
  t.after(() => {
    operator.close()
    client.close()
  })
  const ask = async (username: string, token: string, q = 'create table t ()') => {
    const response = await fetch(
      `${service.url}/user/${username}/api/v2/sql?q=${encodeURIComponent(q)}&api_key=${token}`,
    )
    return { status: response.status, text: await response.text() }
  }
  const works = async (username: string, token: string, q?: string) => {
    const { status, text } = await ask(username, token, q)
    assert.equal(status, 200, text)
  }
  return { proxy, service, operator, client, ask, works }
}

/** Cuts the connection at the next COMMIT after this text. The COMMIT reaches the server later. */
function delayCommitAfter(proxy: TcpProxy, written: string, delayMs: number): () => void {
  let isCut = false
  proxy.watch((flow, text) => {
    if (isCut || !text.includes('commit\0') || !flow.sent().includes(written)) return
    isCut = true
    flow.deliverLate(delayMs)
  })
  return () => assert.ok(isCut, 'the connection was cut')
}

async function dropRoleOf({ services }: RunningService, name: string): Promise<void> {
  const { databases } = services
  const { rows } = await databases.control.query(
    `select k.role_name as role, d.name as database from cartage.api_keys k join cartage.users u on u.id = k.user_id
     join cartage.databases d on d.id = u.database_id where k.name = $1`,
    [name],
  )
  const { role, database } = rows[0]!
  await databases.admin.use(adminTarget(databases.hosts, 1, database), (session) =>
    session.query(`drop owned by ${role}; drop role ${role}`),
  )
}

const grants = [
  { type: 'apis' as const, apis: ['sql' as const] },
  { type: 'database' as const, tables: [], schemas: [] },
] as const
