import type { TestContext } from 'node:test'
import { createClient } from '../../../src/client/client.ts'
import { startHost } from '../postgres/two-hosts.ts'
import { newDataDir } from './data-dir.ts'

/** A PostgreSQL server without an installation, and the environment that names it. */
export async function emptyServer(t: TestContext) {
  const { url } = await startHost(t)
  return {
    CARTAGE_DATABASE_URL: url,
    CARTAGE_SECRET: 'another secret of the other installation',
    CARTAGE_DATA_DIR: await newDataDir(t),
  }
}

export function clientAt(t: TestContext, baseUrl: string, username: string, token: string) {
  const client = createClient({ baseUrl, username, token, retries: 0 })
  t.after(() => client.close())
  return client
}
