import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Flow, startProxy } from '../support/postgres/tcp-proxy.ts'
import { newUser } from '../support/postgres/two-hosts.ts'
import { newInstallation } from '../support/service/installation.ts'
import { eventually } from '../support/service/setup.ts'

test('a statement with an unknown outcome says so, also if the control database is lost with it', async (t) => {
  const installation = await newInstallation(t)
  const { adminUrl } = installation.keys
  const proxy = await startProxy(t, adminUrl)
  const service = await installation.start({ keys: { adminUrl: proxy.url } })
  const client = await newUser(service, 'lost')
  await client.sql('create table t (n int)')
  const held = new Promise<Flow>((resolve) =>
    proxy.watch((flow, text) => {
      if (!text.includes('insert into t')) return
      flow.holdAnswers()
      resolve(flow)
    }),
  )
  const refused = assert.rejects(client.sql('insert into t values (1)'), {
    status: 503,
    code: 'statement-outcome-unknown',
  })
  const flow = await held
  await eventually(() => assert.ok(flow.heldBytes() > 0))
  // Lose the lease first, so that the cache of keys is not valid any more.
  proxy.leadTo('postgres://127.0.0.1:1', { keepsOpen: true })
  for (const other of proxy.flows()) if (other !== flow && other.isOpen()) other.cut()
  await assert.rejects(client.sql('select 1'), { status: 503, code: 'database-unavailable' })
  flow.cut()
  await refused
  proxy.leadTo(adminUrl)
  await eventually(async () => assert.deepEqual((await client.sql('select n from t')).rows, [{ n: 1 }]))
})
