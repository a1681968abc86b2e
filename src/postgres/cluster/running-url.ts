import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../../log/log.ts'
import { openHome } from './home.ts'
import { readPassword } from './initialise.ts'
import { findPostmaster } from './postmaster.ts'
import { urlOf } from './server.ts'

/** The URL of the cluster that runs under the data directory; undefined if none runs. */
export async function runningClusterUrl(
  dataDir: string,
  log: Pick<Log, 'info'>,
): Promise<string | undefined> {
  if (!existsSync(join(dataDir, 'postgres'))) return undefined
  const home = await openHome(dataDir, log)
  const postmaster = await findPostmaster(home)
  return postmaster && urlOf({ home, password: await readPassword(home) }, postmaster)
}
