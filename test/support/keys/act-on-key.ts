import { userByName } from '../../../src/auth/account-store.ts'
import { readConfig } from '../../../src/config/config.ts'
import { openInstallation } from '../../../src/hosts/open-installation.ts'
import { createKey } from '../../../src/keys/create-key.ts'
import { deleteKey } from '../../../src/keys/delete-key.ts'
import { createLog } from '../../../src/log/log.ts'

/** Creates or deletes one key in a process of its own, so that a test can kill it midway. */
const { CARTAGE_ACT: act, CARTAGE_USER: username, CARTAGE_KEY: name } = process.env
const config = readConfig()
const keys = { adminUrl: config.databaseUrl, secret: config.secret, adminToken: '' }
const installation = await openInstallation(config, keys, createLog('error'))
const account = (await userByName(installation.databases.control, username!))!
if (act === 'delete') await deleteKey(installation, account, name!)
else {
  const tables = [{ schema: 'public', name: 't', permissions: ['select'] as const }]
  const grants = { apis: [], services: [], schemas: [], hasTableMetadata: false, tables }
  await createKey(installation, account, { name: name!, grants, defaultQuota: 0 })
}
await installation.databases.close()
