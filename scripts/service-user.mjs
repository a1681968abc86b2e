import { spawnSync } from 'node:child_process'
import { show } from './apt.mjs'
import { say } from './run.mjs'

const name = 'cartage'

/**
 * Root starts the service but does not run it: a system user does, as with Debian's packages. Where none can be
 * created, the service runs as the user of PostgreSQL's package.
 */
export async function provideServiceUser() {
  if (process.getuid?.() !== 0 || isKnown()) return
  const nowhere = ['--home-dir', '/nonexistent', '--no-create-home', '--shell', '/usr/sbin/nologin']
  try {
    await show(['useradd', '--system', '--user-group', ...nowhere, name])
  } catch (error) {
    // Another command may have created it at this moment.
    if (!isKnown()) say(`the system user ${name} could not be made (${error.message})`)
  }
}

const isKnown = () => spawnSync('id', ['-u', name], { stdio: 'ignore' }).status === 0
