import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { readConfig } from '../../../src/config/config.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import { loadOrCreateSecrets } from '../../../src/hosts/secret/installation-secrets.ts'
import { createLog } from '../../../src/log/log.ts'
import { startEmbeddedCluster } from '../../../src/postgres/cluster/embedded-cluster.ts'
import { newDataDir } from './data-dir.ts'

/**
 * A data directory with an installation that was started once, has no user and does not run. It is a copy: initdb,
 * PostGIS and the migrations take seconds, so one installation is made for all processes of a run.
 */
export async function madeDataDir(t: TestContext): Promise<string> {
  const dataDir = await newDataDir(t)
  await copyMade(dataDir)
  return dataDir
}

/** Copies that installation, with the owners of its files, into an empty data directory. */
export async function copyMade(dataDir: string): Promise<void> {
  made ??= makeOnce()
  await promisify(execFile)('cp', ['-a', '--reflink=auto', `${await made}/.`, dataDir])
}

/** The namespace of the installation, after which its databases are named. */
export const madeNamespace = 'cartage'

let made: Promise<string> | undefined
let own: string | undefined

after(async () => {
  if (own) await rm(own, { recursive: true, force: true })
})

/** The first process of a run makes it, the others wait. A test that runs alone makes its own. */
async function makeOnce(): Promise<string> {
  const isInRun = process.env.CARTAGE_TEST_NAMESPACE !== undefined
  const folder = isInRun ? tmpdir() : await mkdtemp(join(tmpdir(), 'cartage-made-'))
  if (!isInRun) own = folder
  await chmod(folder, 0o711)
  const place = join(folder, 'made-installation')
  // It stays, so that there is only one first.
  const isFirst = await mkdir(`${place}.taken`).then(
    () => true,
    () => false,
  )
  if (isFirst) {
    await mkdir(`${place}.draft`, 0o711)
    await make(`${place}.draft`)
    await rename(`${place}.draft`, place)
  }
  for (let waits = 0; !existsSync(place); waits++) {
    if (waits > 1200) throw new Error(`another process has not made ${place} in two minutes`)
    await sleep(100)
  }
  return place
}

async function make(dataDir: string): Promise<void> {
  const log = createLog('error')
  const cluster = await startEmbeddedCluster({ dataDir, log, settings: { fsync: 'off' } })
  try {
    const config = { ...readConfig({}), dataDir, namespace: madeNamespace }
    const keys = await loadOrCreateSecrets(config, cluster.url)
    const installation = await openInstallation(config, keys, log)
    await installation.databases.close()
  } finally {
    await cluster.stop()
  }
}
