import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '../../src/client/client.ts'
import { addHost } from '../../src/hosts/add-host.ts'
import { silentProxy } from '../support/postgres/silent-proxy.ts'
import { admin, startHost } from '../support/postgres/two-hosts.ts'
import { newInstallation } from '../support/service/installation.ts'

test('while one host is silent, no request to it delays users on another host', async (t) => {
  const { config, start } = await newInstallation(t)
  const proxy = await silentProxy(t, (await startHost(t)).url)
  const service = await start()
  await addHost(service.services.installation, 'second', proxy.url)
  const newClient = async (username: string) => {
    const { api_key: token } = await admin(service).users.create({ username })
    return createClient({ baseUrl: service.url, username, token, retries: 0 })
  }
  const [here, there] = [await newClient('here'), await newClient('there')]
  const own = await here.jobs.create('select 1')
  const jobs = await Promise.all(Array.from({ length: 20 }, () => there.jobs.create('select 1')))
  for (const database of ['postgres', config.namespace]) proxy.silence(database, { andNew: true })
  const cancelled = Promise.allSettled(jobs.map(({ job_id }) => there.jobs.cancel(job_id)))
  const until = performance.now() + 4_000
  let longestMs = 0
  try {
    while (performance.now() < until) {
      const sentAt = performance.now()
      assert.equal((await here.jobs.read(own.job_id)).status, 'pending')
      longestMs = Math.max(longestMs, performance.now() - sentAt)
    }
  } finally {
    proxy.speak()
    await cancelled
  }
  assert.ok(longestMs < 2_000, `${longestMs} ms`)
})
