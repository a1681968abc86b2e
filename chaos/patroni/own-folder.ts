import { chmod, chown } from 'node:fs/promises'
import type { Identity } from '../../src/postgres/cluster/owned-files.ts'

/** Gives the folder to the user of the programs; neither PostgreSQL nor Patroni starts its server as root. */
export async function ownFolder(folder: string, identity: Identity | undefined): Promise<void> {
  await chmod(folder, 0o700)
  if (identity) await chown(folder, identity.uid, identity.gid)
}
