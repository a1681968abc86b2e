import { realpath, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { CheckDocument } from '../contract/documents.ts'
import type { Installation } from '../hosts/installation.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import { firstHostId, type Host } from '../postgres/hosts.ts'
import { adminTarget } from '../postgres/session-target.ts'
import { patienceMs } from './check-hosts.ts'

/** The disks of the embedded cluster, and of other PostgreSQLs of this machine. Those of other machines are not visible here. */
export async function checkDisks(
  installation: Installation,
  config: Config,
): Promise<readonly CheckDocument[]> {
  const hosts = installation.databases.hosts.all()
  const others = config.databaseUrl ? hosts : hosts.filter(({ id }) => id !== firstHostId)
  const embedded = config.databaseUrl
    ? []
    : [checkFolder('disk', join(config.dataDir, 'postgres'), config.dataDir)]
  return (await Promise.all([...embedded, ...others.map((host) => checkHost(installation, host))])).flat()
}

async function checkHost(installation: Installation, host: Host): Promise<readonly CheckDocument[]> {
  const name = `host ${host.name}: disk`
  if (!isLocal(host)) {
    return [
      { name, status: 'ok', advice: 'It is on another machine and not visible from here: watch it there' },
    ]
  }
  // Another check reports a host that does not answer.
  const folder = await answerWithin(patienceMs, dataFolder(installation, host.id)).catch(() => undefined)
  return folder === undefined ? [] : checkFolder(name, folder, folder)
}

/** A socket, or an address of the loopback. Behind a tunnel or in a container the folder does not exist here. */
const isLocal = ({ addresses }: Host) =>
  addresses.every(({ host = '' }) => /^(\/|localhost$|127\.|::1$)/.test(host))

async function dataFolder({ databases }: Installation, hostId: number): Promise<string> {
  return databases.admin.use(adminTarget(databases.hosts, hostId), async (session) => {
    const { rows } = await session.query<{ folder: string }>(
      `select pg_catalog.current_setting('data_directory') as folder`,
    )
    return rows[0]!.folder
  })
}

/** `path` may be a link to another disk, or not be there yet. */
async function checkFolder(name: string, path: string, otherwise: string): Promise<readonly CheckDocument[]> {
  const folder = await realpath(path).catch(() => otherwise)
  const disk = await statfs(folder).catch((error: Error) => error)
  if (disk instanceof Error) {
    return [{ name, status: 'warn', advice: `${folder} cannot be checked: ${disk.message}` }]
  }
  const { bavail, blocks, bsize } = disk
  const share = bavail / blocks
  if (bavail * bsize < fullBytes || share < 0.001) {
    const advice = `The disk under ${folder} is full: PostgreSQL cannot write, and statements that do fail. Make room`
    return [{ name, status: 'fail', advice }]
  }
  const free = `${Math.round((bavail * bsize) / 1024 ** 3)} GiB (${Math.round(100 * share)} %) free under ${folder}`
  if (share >= 0.1) return [{ name, status: 'ok', advice: free }]
  const advice = `${free}: PostgreSQL stops when the disk is full; make room, or move it to another disk`
  return [{ name, status: share >= 0.02 ? 'warn' : 'fail', advice }]
}

/** A segment of its log and a little more. */
const fullBytes = 32 * 1024 ** 2
