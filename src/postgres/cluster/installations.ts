import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ClusterError } from './cluster-error.ts'

/** In the folder of a cluster: the data directory it belongs to, which may be elsewhere. */
export const dataDirFile = 'data-directory'

/** Whatever is not the first start wants a cluster that is there, and says which ones run if it is not. */
export async function requireCluster(dataDir: string): Promise<void> {
  const trouble = await access(join(dataDir, 'postgres/data/PG_VERSION')).catch((error) => error)
  if (trouble?.code !== 'ENOENT') return
  const others = runningInstallations()
  const running = others.length > 0 ? `; running on this machine: ${others.join(', ')}` : ''
  throw new ClusterError(
    `there is no installation in ${dataDir}: CARTAGE_DATA_DIR says where it is, cartage serve makes a new one${running}`,
  )
}

/** The data directories of the embedded clusters that run on this machine, as far as we may see. Linux only. */
function runningInstallations(): readonly string[] {
  const ids = attempt(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name)) ?? []
  const found = ids.map((id) => attempt(() => installationOf(id)))
  return [...new Set(found.filter((path) => path !== undefined))].sort()
}

function installationOf(pid: string): string | undefined {
  if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return undefined
  const dataPath = readlinkSync(`/proc/${pid}/cwd`)
  if (!existsSync(join(dataPath, 'cartage.conf'))) return undefined
  const home = dirname(dataPath)
  return attempt(() => readFileSync(join(home, dataDirFile), 'utf8')) ?? dirname(home)
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
