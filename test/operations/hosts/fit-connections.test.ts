import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAdminClient, createClient } from '../../../src/client/client.ts'
import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'
import { startCartage } from '../../support/service/processes.ts'

test('a PostgreSQL with few connections is used to its limit: requests wait, none fails', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cartage-small-'))
  const settings = { fsync: 'off', max_connections: '45' }
  const cluster = await startEmbeddedCluster({
    dataDir,
    log: createLog('error'),
    isEphemeral: true,
    settings,
  })
  t.after(async () => {
    await cluster.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const service = await startCartage(t, ['serve', '--no-worker'], {
    CARTAGE_DATABASE_URL: cluster.url,
    CARTAGE_SECRET: 'a secret for a small PostgreSQL, long enough',
    CARTAGE_ADMIN_TOKEN: 'an admin token for a small PostgreSQL',
    CARTAGE_CONNECTION_WAIT_MS: '60000',
  })
  assert.match(service.log(), /"msg":"PostgreSQL allows fewer connections than configured/)
  const admin = createAdminClient({ baseUrl: service.url, token: 'an admin token for a small PostgreSQL' })
  const users = ['one', 'two', 'three', 'four', 'five', 'six']
  const clients = []
  for (const username of users) {
    const { api_key: token } = await admin.users.create({ username })
    clients.push(createClient({ baseUrl: service.url, username, token }))
  }
  const answers = clients.flatMap((client) =>
    Array.from({ length: 8 }, () => client.sql('select pg_sleep(0.5)')),
  )
  const failed = (await Promise.allSettled(answers)).filter(({ status }) => status === 'rejected')
  assert.deepEqual(failed, [])
  for (const client of [...clients, admin]) client.close()
  assert.equal(await service.stop(), 0)
})
