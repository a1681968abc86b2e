import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ClusterError } from './cluster-error.ts'
import type { ClusterHome } from './home.ts'
import { readOwned, writeOwned } from './owned-files.ts'

/** Records a cluster's data directory in the folder of the cluster, which may be elsewhere. */
export async function noteDataDir(home: ClusterHome, dataDir: string): Promise<void> {
  await writeOwned(join(home.directory, dataDirFile), home.identity, dataDir)
}

const dataDirFile = 'data-directory'

/** All commands but the first start need an existing cluster. The error lists the running ones. */
export async function requireCluster(dataDir: string): Promise<void> {
  const trouble = await access(join(dataDir, 'postgres/data/PG_VERSION')).catch((error) => error)
  if (trouble?.code !== 'ENOENT') return
  const others = await runningInstallations()
  const running = others.length > 0 ? `; running on this machine: ${others.join(', ')}` : ''
  throw new ClusterError(
    `there is no installation in ${dataDir}: set CARTAGE_DATA_DIR, or make a new one with cartage serve${running}`,
  )
}

/** The data directories of embedded clusters on this machine that we can see. Linux only. */
async function runningInstallations(): Promise<readonly string[]> {
  const ids = attempt(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? []
  const found = await Promise.all(ids.map(installationOf))
  return [...new Set(found.filter((path) => path !== undefined))].sort()
}

async function installationOf(pid: string): Promise<string | undefined> {
  if (attempt(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()) !== 'postgres') return undefined
  const dataPath = attempt(() => readlinkSync(`/proc/${pid}/cwd`))
  if (dataPath === undefined || !existsSync(join(dataPath, 'cartage.conf'))) return undefined
  const home = dirname(dataPath)
  // Any user may run such a process.
  const noted = await readOwned(join(home, dataDirFile)).catch(() => '')
  return noted.startsWith('/') && noted.length < 4096 ? noted : dirname(home)
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
