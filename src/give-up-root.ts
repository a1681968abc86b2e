import type { Log } from './log.ts'
import { packageFile, reachThroughDescriptor } from './package-file.ts'
import type { Identity } from './postgres/cluster/owned-files.ts'
import { canUse, findUser, isRoot, serviceUser } from './postgres/cluster/system-user.ts'

/**
 * Makes a process that was started as root one of the cluster's user, for good; without an embedded cluster one of the
 * service's own user, or of `nobody`. That user may not reach the files of the package, as below /root: then `prepare`
 * loads what would be loaded later, and the rest is reached through a descriptor that root opens.
 */
export async function giveUpRoot(
  owner: Identity | undefined,
  prepare: () => Promise<void>,
  log: Log,
): Promise<void> {
  if (!isRoot()) return
  const user = owner ?? (await findUser([serviceUser, 'nobody']))
  if (!(await canUse(user, '-r', packageFile('package.json')))) {
    await prepare()
    reachThroughDescriptor()
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
