import { createOrganization } from '../../../src/accounts/create-organization.ts'
import { createUser } from '../../../src/accounts/create-user.ts'
import { deleteUser } from '../../../src/accounts/delete-user.ts'
import { readConfig } from '../../../src/config/config.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import { createLog } from '../../../src/log/log.ts'

/** A process that says when it begins to create or delete an account, to be killed midway. */
const [adminUrl, secret, namespace, act, name, organization] = process.argv.slice(2) as [
  string,
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
process.stdout.write('begin\n')
if (act === 'user') await createUser(installation, { username: name, organization })
else if (act === 'organization')
  await createOrganization(installation, { name, owner: { username: `${name}-o` } })
else await deleteUser(installation, name)
await installation.databases.close()
