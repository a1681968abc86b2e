import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pg from 'pg'
import { createLog } from '../../../src/log/log.ts'
import { runningClusterUrl } from '../../../src/postgres/cluster/running-url.ts'

/** An empty folder for an embedded installation; files of its cluster in other places are removed with it. */
export async function newDataDir(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-data-'))
  t.after(async () => {
    const cluster = await realpath(join(folder, 'postgres')).catch(() => folder)
    for (const path of [cluster, folder]) await rm(path, { recursive: true, force: true })
  })
  return folder
}

/** A superuser session on the embedded cluster of this folder; it ends with the test. */
export async function embeddedSuperuser(
  t: TestContext,
  dataDir: string,
  database: string,
): Promise<pg.Client> {
  const url = new URL((await runningClusterUrl(dataDir, createLog('silent')))!)
  url.pathname = `/${database}`
  const client = new pg.Client({ connectionString: url.href })
  client.on('error', () => undefined)
  await client.connect()
  t.after(() => client.end().catch(() => undefined))
  return client
}
