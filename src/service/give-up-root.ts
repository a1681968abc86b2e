import { chown } from 'node:fs/promises'
import { makeFolder } from '../files/make-folder.ts'
import { holdFiles, packageFile } from '../files/package-file.ts'
import type { Log } from '../log/log.ts'
import type { Identity } from '../postgres/cluster/owned-files.ts'
import { canUse, findUser, isRoot, serviceUser } from '../postgres/cluster/system-user.ts'

/**
 * Switches a process started as root to the cluster's user, for good; without an embedded cluster to the service's own
 * user, or `nobody`. If that user may not read the package's files, for example below /root, everything needed later is
 * read before: `prepare` loads the code. `ownFolder` is made for that user: the folder above it may be root's.
 */
export async function giveUpRoot(
  owner: Identity | undefined,
  ownFolder: string,
  prepare: () => Promise<void>,
  log: Log,
): Promise<void> {
  if (!isRoot()) return
  const user = owner ?? (await findUser([serviceUser, 'nobody']))
  if (await makeFolder(ownFolder, 0o700)) await chown(ownFolder, user.uid, user.gid)
  if (!(await canUse(user, '-r', packageFile('package.json')))) {
    await Promise.all([prepare(), ...laterFiles.map((path) => holdFiles(packageFile(path)))])
  }
  try {
    process.setgroups?.([user.gid])
    process.setgid?.(user.gid)
    process.setuid?.(user.uid)
  } catch (error) {
    // In a container, root may lack the right to switch users.
    log.warn({ err: error, ...user }, 'cannot give up root: the service runs as root')
  }
}

const laterFiles = ['package.json', 'migrations', 'dist/console', 'dist/cartage-cli.mjs']
