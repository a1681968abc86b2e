import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { newInstallation } from '../support/installation.ts'
import { startProcess } from '../support/processes.ts'
import { eventually, setup } from '../support/setup.ts'
import { silentProxy } from '../support/silent-proxy.ts'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const opened = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return opened
}

test('a process whose worker cannot start closes its door and its connections, and says why', async (t) => {
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

test('a process ends when it is told to, although its control database says nothing any more', async (t) => {
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
