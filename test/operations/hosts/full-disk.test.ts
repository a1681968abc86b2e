import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { test } from 'node:test'
import { createUser } from '../../../src/accounts/create-user.ts'
import { createLog } from '../../../src/log/log.ts'
import { ClusterHeld } from '../../../src/postgres/cluster/cluster-error.ts'
import { openHome } from '../../../src/postgres/cluster/home.ts'
import { becomeKeeper } from '../../../src/postgres/cluster/lock.ts'
import { newDataDir } from '../../support/service/data-dir.ts'
import { newInstallation } from '../../support/service/installation.ts'

test("a full disk of the control database is 503 and shows nothing of the service's SQL", async (t) => {
  const installation = await newInstallation(t)
  const { url, services } = await installation.start()
  const { masterToken } = await createUser(services.installation, { username: 'alice' })
  await services.databases.control.query(`
    create function cartage.no_room() returns trigger language plpgsql as $$
      begin raise exception 'could not extend file "base/1/2"' using errcode = '53100'; end $$;
    create trigger no_room before insert or update on cartage.job_queues execute function cartage.no_room()`)
  const answer = await fetch(`${url}/user/alice/api/v2/sql/job?api_key=${masterToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"select 1"}',
  })
  assert.equal(answer.status, 503)
  assert.ok(answer.headers.get('retry-after'))
  assert.deepEqual(await answer.json(), {
    error: ['The database is not reachable at the moment'],
    code: 'database-unavailable',
  })
})

test('a command joins a cluster that another process keeps without writing anything first', async (t) => {
  const home = await openHome(await newDataDir(t), createLog('silent'))
  const lock = await becomeKeeper(home)
  const changes = () =>
    Promise.all([home.directory, home.lockPath].map(async (path) => (await stat(path)).mtimeMs))
  const before = await changes()
  await assert.rejects(becomeKeeper(home), ClusterHeld)
  assert.deepEqual(await changes(), before)
  await lock.release()
})
