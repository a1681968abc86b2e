import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ClusterError } from './cluster-error.ts'
import type { Identity } from './owned-files.ts'

/** The system user of the service, which `npm start` makes where it may. */
export const serviceUser = 'cartage'

const run = promisify(execFile)

/** The first of these users that this machine has. */
export async function findUser(names: readonly string[]): Promise<Identity> {
  for (const name of names) {
    const found = await lookUp(name).catch(() => undefined)
    if (found) return found
  }
  throw new ClusterError(
    `neither the service nor PostgreSQL runs as root, and there is no user ${names.join(' or ')}: make one (Debian: adduser --system --group --no-create-home ${serviceUser})`,
  )
}

async function lookUp(name: string): Promise<Identity> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map((option) => run('id', [option, name])))
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
}

export const isRoot = () => process.getuid?.() === 0

/** Whether the user may read (-r) or write (-w) a file or folder, by all the folders above it. */
export async function canUse(user: Identity, way: '-r' | '-w', path: string): Promise<boolean> {
  return run('test', [way, path], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  )
}
