import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../support/http/free-port.ts'
import { newInstallation } from '../support/service/installation.ts'

test('a process that only runs jobs serves its health and metrics on its own port, and nothing else', async (t) => {
  const { start } = await newInstallation(t)
  const workerPort = await freePort()
  await start({ parts: { http: false, worker: true }, config: { workerPort } })
  const ask = (path: string) => fetch(`http://127.0.0.1:${workerPort}${path}`)
  assert.equal((await ask('/health/live')).status, 200)
  const { imports, ...ready } = (await (await ask('/health/ready')).json()) as { imports: string }
  assert.match(imports, /GDAL/)
  assert.deepEqual(ready, {
    status: 'ok',
    control: 'ok',
    hosts: { local: 'ok' },
    replication: {
      local: { role: 'primary', standbys: 0, synchronous: 0, lag_bytes: null, lag_ms: null },
    },
  })
  assert.match(await (await ask('/metrics')).text(), /^cartage_jobs\{state="running"\} 0$/m)
  for (const path of ['/admin/v1/users', '/user/alice/api/v2/sql?q=select+1', '/openapi.json']) {
    assert.equal((await ask(path)).status, 404, path)
  }
})
