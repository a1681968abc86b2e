import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ClusterError } from './cluster-error.ts'
import type { Identity } from './owned-files.ts'

/** The service's system user, which `npm start` creates if it may. */
export const serviceUser = 'cartage'

const run = promisify(execFile)

/** The first of these users that exists on this machine. */
export async function findUser(names: readonly string[]): Promise<Identity> {
  for (const name of names) {
    const found = await lookUp(name).catch(() => undefined)
    if (found) return found
  }
  throw new ClusterError(
    `Cartage and PostgreSQL do not run as root, and there is no user ${names.join(' or ')}: create one (Debian: adduser --system --group --no-create-home ${serviceUser})`,
  )
}

async function lookUp(name: string): Promise<Identity> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map((option) => run('id', [option, name])))
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}

export const isRoot = () => process.getuid?.() === 0

/** True if the user may read (-r) or write (-w) the file or folder, all parent folders included. */
export async function canUse(user: Identity, way: '-r' | '-w', path: string): Promise<boolean> {
  return run('test', [way, path], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )
}
