import type { Log } from './log.ts'
import { holdFiles, packageFile } from './package-file.ts'
import type { Identity } from './postgres/cluster/owned-files.ts'
import { canUse, findUser, isRoot, serviceUser } from './postgres/cluster/system-user.ts'

/**
 * Makes a process that was started as root one of the cluster's user, for good; without an embedded cluster one of the
 * service's own user, or of `nobody`. Where that user may not read the files of the package, as below /root, everything
 * that would be read later is read before: `prepare` loads the code.
 */
export async function giveUpRoot(
  owner: Identity | undefined,
  prepare: () => Promise<void>,
  log: Log,
): Promise<void> {
  if (!isRoot()) return
  const user = owner ?? (await findUser([serviceUser, 'nobody']))
  if (!(await canUse(user, '-r', packageFile('package.json')))) {
    await Promise.all([prepare(), ...laterFiles.map((path) => holdFiles(packageFile(path)))])
  }
  try {
    process.setgroups?.([user.gid])
    process.setgid?.(user.gid)
    process.setuid?.(user.uid)
  } catch (error) {
    // A container may have a root that is no other user's equal.
    log.warn({ err: error, ...user }, 'cannot give up root here: the service goes on as root')
  }
}

const laterFiles = ['package.json', 'migrations', 'dist/console', 'dist/cartage-cli.mjs']
