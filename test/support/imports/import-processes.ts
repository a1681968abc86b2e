import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { CartageProcess } from '../../../chaos/process.ts'
import { freePort } from '../http/free-port.ts'
import { eventually, type Setup } from '../service/setup.ts'

/** Starts a server without a worker in its own process, and returns its address. */
export async function startImportApi(
  t: TestContext,
  { keys, service }: Setup,
  spool: string,
): Promise<string> {
  const port = await freePort()
  const api = new CartageProcess('serve', {
    ...process.env,
    CARTAGE_DATABASE_URL: keys.adminUrl,
    CARTAGE_SECRET: keys.secret,
    CARTAGE_NAMESPACE: service.services.config.namespace,
    CARTAGE_LOG_LEVEL: 'silent',
    CARTAGE_WORKER: 'off',
    CARTAGE_PORT: String(port),
    CARTAGE_IMPORT_DIR: spool,
  })
  api.isRevived = false
  t.after(() => api.end('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => assert.equal((await fetch(`${url}/health/ready`)).status, 200), 60_000)
  return url
}
