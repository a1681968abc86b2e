import { test } from 'node:test'
import { createLog } from '../../src/log.ts'
import { prepareControlDatabase } from '../../src/postgres/control-database.ts'
import { openDatabases } from '../../src/postgres/databases.ts'
import { randomName, setup } from '../setup.ts'

test('processes that start at the same moment on a new installation all come up', async (t) => {
  const { service, keys, admin } = await setup(t)
  const { config, secrets } = service.services
  for (let turn = 0; turn < 6; turn++) {
    const namespace = randomName('ct-start').replaceAll('-', '_')
    t.after(() => admin(`drop database if exists ${namespace} with (force)`))
    const processes = Array.from({ length: 12 }, () =>
      openDatabases({ ...config, namespace }, keys.adminUrl, secrets, createLog('silent')),
    )
    try {
      await Promise.all(processes.map((databases) => prepareControlDatabase(databases, namespace, [])))
    } finally {
      await Promise.all(processes.map((databases) => databases.close()))
    }
  }
})
