import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { masterTargetOf } from '../../src/auth/account.ts'
import { createLog } from '../../src/log/log.ts'
import { hostFromUrl } from '../../src/postgres/hosts.ts'
import { type RunningService, startService } from '../../src/service/service.ts'
import { HostHealth } from '../../src/worker/host-health.ts'
import { jobApi, runJob } from '../support/jobs/job-api.ts'
import { newInstallation } from '../support/service/installation.ts'
import { randomName, setup, type TestUser } from '../support/service/setup.ts'

const endOwnSessions = `do $$ begin
  loop
    perform pg_terminate_backend(pid) from pg_stat_activity where usename = current_user and pid <> pg_backend_pid();
    perform pg_stat_clear_snapshot();
    exit when clock_timestamp() > now() + interval '8 seconds';
  end loop;
end $$`

async function newUser({ services, url }: RunningService): Promise<TestUser> {
  const username = randomName('user')
  const { account, masterToken } = await createUser(services.installation, { username })
  const sql = (text: string) =>
    services.databases.job.use(masterTargetOf(account), (session) =>
      session.onClient((client) => client.query(text)),
    )
  return { account, username, masterToken, base: `${url}/user/${username}`, sql }
}

test('a user who ends all of its own sessions does not close the host for others', async (t) => {
  const { config, keys } = await newInstallation(t)
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const service = await startService(config, keys, { http: true, worker: true }, log)
  try {
    const attacker = await newUser(service)
    const other = jobApi(await newUser(service))
    const attack = attacker.sql(endOwnSessions)
    const jobs = Array.from({ length: 3 }, () => jobApi(attacker).submit('select 1'))
    // It is random whether a job is hit at its login, before its statement or in it: others see no difference.
    for (let turn = 0; turn < 5; turn++) {
      assert.equal((await runJob(other, 'select pg_sleep(0.2)')).status, 'done')
    }
    await attack
    assert.deepEqual(
      lines.filter((line) => line.includes('a database host does not answer')),
      [],
    )
    for (const { job_id } of await Promise.all(jobs)) {
      assert.match((await jobApi(attacker).ended(job_id)).status, /^(done|failed)$/)
    }
  } finally {
    await service.stop()
  }
})

test('a host counts as down when it answers neither a user nor the administrator', async (t) => {
  const { service, user } = await setup(t)
  const { databases } = service.services
  const gone = hostFromUrl(9, 'gone', 'postgresql://postgres@127.0.0.1:1/postgres')
  databases.hosts.register(gone)
  t.after(() => databases.hosts.forget(gone.id))
  const health = new HostHealth(databases, createLog('silent'), () => undefined)
  t.after(() => health.stop())
  const target = { ...masterTargetOf(user.account), hostId: gone.id }
  await health.tenantFailed(target, new Error('no login'), new AbortController().signal)
  assert.deepEqual(health.openHosts().includes(gone.id), false)
  await health.tenantFailed(masterTargetOf(user.account), new Error('no login'), new AbortController().signal)
  assert.deepEqual(health.openHosts().includes(1), true)
})
