import { carryOut } from '../../../src/accounts/moves/carry-out.ts'
import { requestMove } from '../../../src/accounts/moves/request-move.ts'
import { readConfig } from '../../../src/config/config.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import { createLog } from '../../../src/log/log.ts'

/** A process that moves a user, to be killed midway. Prints the id of the move. */
const [adminUrl, secret, namespace, username, host] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
]
const installation = await openInstallation(
  { ...readConfig({}), namespace },
  { adminUrl, secret, adminToken: '' },
  createLog('silent'),
)
const { id } = await requestMove(installation, { kind: 'user', name: username }, host)
process.stdout.write(`${id}\n`)
await carryOut(installation, id, new AbortController().signal)
await installation.databases.close()
