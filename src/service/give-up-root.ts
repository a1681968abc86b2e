import { lchown, lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '../files/make-folder.ts'
import { holdFiles, packageFile } from '../files/package-file.ts'
import type { Log } from '../log/log.ts'
import type { Identity } from '../postgres/cluster/owned-files.ts'
import { canUse, findUser, isRoot, serviceUser } from '../postgres/cluster/system-user.ts'

/**
 * Switches a process started as root to the cluster's user, for good; without an embedded cluster to the service's own
 * user, or `nobody`. If that user may not read the package's files, for example below /root, everything needed later is
 * read before: `prepare` loads the code. `ownFolders` are made for that user: the folders above may be root's.
 */
export async function giveUpRoot(
  owner: Identity | undefined,
  ownFolders: readonly string[],
  prepare: () => Promise<void>,
  log: Log,
): Promise<void> {
  if (!isRoot()) return
  const user = owner ?? (await findUser([serviceUser, 'nobody']))
  for (const folder of ownFolders)
    await giveFolder(folder, user).catch((error: unknown) =>
      log.warn({ err: error, folder }, 'cannot make a folder of the service'),
    )
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

/** A start that was killed may have left it to root. A link, and a folder of another user, stay as they are. */
async function giveFolder(folder: string, { uid, gid }: Identity): Promise<void> {
  await makeFolder(dirname(folder), 0o711)
  await makeFolder(folder, 0o700)
  const found = await lstat(folder)
  if (found.isDirectory() && found.uid === 0) await lchown(folder, uid, gid)
}
