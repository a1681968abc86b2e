import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { freePort } from '../support/http/free-port.ts'
import { silentProxy } from '../support/postgres/silent-proxy.ts'
import { newInstallation } from '../support/service/installation.ts'
import { startProcess } from '../support/service/processes.ts'
import { eventually, randomName, setup } from '../support/service/setup.ts'

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const opened = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return opened
}

test('a process whose worker cannot start closes its port and connections and says why', async (t) => {
  const { admin } = await setup(t)
  const installation = await newInstallation(t)
  const { namespace } = installation.config
  await (await installation.start()).stop()
  await admin('alter table cartage.workers rename to workers_elsewhere', [], namespace)
  const port = await freePort()
  await assert.rejects(installation.start({ config: { port }, parts: { worker: true } }), /workers/)
  assert.equal(await isOpen(port), false)
  await eventually(async () => {
    const { rows } = await admin('select pid from pg_stat_activity where datname = $1', [namespace])
    assert.deepEqual(rows, [])
  })
  await admin('alter table cartage.workers_elsewhere rename to workers', [], namespace)
  const service = await installation.start({ config: { port }, parts: { worker: true } })
  assert.equal(await isOpen(port), true)
  await service.stop()
})

test('SIGTERM ends a process although its control database does not answer', async (t) => {
  const installation = await newInstallation(t)
  const proxy = await silentProxy(t, installation.keys.adminUrl)
  const proxied = { ...installation, keys: { ...installation.keys, adminUrl: proxy.url } }
  const running = await startProcess(t, proxied, ['serve'], { CARTAGE_SHUTDOWN_GRACE_MS: '1000' })
  proxy.silence(installation.config.namespace, { andNew: true })
  const begun = performance.now()
  assert.equal(await running.stop(), 0)
  assert.ok(performance.now() - begun < 45_000)
  proxy.speak()
})

test('a stopping process answers the requests it has, and waits for no other on the same connections', async (t) => {
  const { admin } = await setup(t)
  const installation = await newInstallation(t)
  const service = await installation.start()
  const username = randomName('user')
  const { account, masterToken } = await createUser(service.services.installation, { username })
  const agent = new Agent({ keepAlive: true })
  const openedAhead = connect(Number(new URL(service.url).port), '127.0.0.1')
  t.after(() => {
    agent.destroy()
    openedAhead.destroy()
  })
  const ask = async (path: string, q: string) => {
    const query = new URLSearchParams({ q, api_key: masterToken })
    const asked = get(`${service.url}/user/${username}/api/v2/${path}?${query}`, { agent })
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    await once(answer.resume(), 'end')
    return { status: answer.statusCode, connection: answer.headers.connection }
  }
  const answers = [ask('sql', 'select pg_sleep(2)'), ask('sql/copyto', 'copy (select pg_sleep(2)) to stdout')]
  await eventually(async () => {
    const { rowCount } = await admin(
      "select from pg_stat_activity where datname = $1 and state = 'active' and query like '%pg_sleep%'",
      [account.database],
    )
    assert.equal(rowCount, 2)
  })
  const begun = performance.now()
  await service.stop()
  assert.ok(performance.now() - begun < 8_000)
  assert.deepEqual(await Promise.all(answers), Array(2).fill({ status: 200, connection: 'close' }))
})
