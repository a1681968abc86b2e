import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { addHost } from '../../src/hosts/add-host.ts'
import { createLog } from '../../src/log/log.ts'
import { takeBaseBackup } from '../../src/postgres/cluster/base-backup.ts'
import { findBinaries } from '../../src/postgres/cluster/find-binaries.ts'
import { addressOf, hostFromUrl } from '../../src/postgres/hosts.ts'
import { startService } from '../../src/service/service.ts'
import { newStandbyPair, type StandbyPair } from '../support/postgres/standby-pair.ts'
import { newUser } from '../support/postgres/two-hosts.ts'
import { runSql, testKeys } from '../support/runner/namespace.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('an address with several servers of a cluster leads to the primary, before and after a fail-over', async (t) => {
  const pair = await newStandbyPair()
  const config = { ...readConfig({}), port: 0, namespace: pair.namespace, logLevel: 'error' } as const
  const keys = testKeys(addressesOf(pair))
  const service = await startService(config, keys, { http: true, worker: true }, createLog('error'))
  t.after(() => service.stop())
  const client = await newUser(service, 'follows')
  await client.sql('create table t (n int)')
  await client.sql('insert into t values (1)')
  await eventually(async () => assert.equal(await lagOf(pair), '0'))

  const saved: Buffer[] = []
  const [binaries] = await findBinaries()
  await takeBaseBackup(keys.adminUrl, binaries!, async (tar) => {
    for await (const chunk of tar) saved.push(chunk)
  })
  assert.ok(Buffer.concat(saved).includes('backup_label'))

  await pair.failOver()
  await eventually(async () => assert.deepEqual((await client.sql('select n from t')).rows, [{ n: 1 }]))
  const { job_id } = await eventually(() => client.jobs.create('insert into t values (2)'))
  assert.equal((await client.jobs.finished(job_id)).status, 'done')
  assert.deepEqual((await client.sql('select n from t order by n')).rows, [{ n: 1 }, { n: 2 }])
  assert.equal((await fetch(`${service.url}/health/ready`)).status, 200)
})

test('an address with several servers is parsed as libpq does', () => {
  const { addresses, adminRole, adminPassword, adminDatabase, ...host } = hostFromUrl(
    7,
    'pair',
    'postgresql://ad%2Cmin:p%40ss,w@a.example:5433,[::1],c/base?sslmode=disable&target_session_attrs=read-write',
  )
  assert.deepEqual(
    addresses.map(({ host: server, port }) => [server, port]),
    [
      ['a.example', 5433],
      ['::1', 5432],
      ['c', 5432],
    ],
  )
  assert.deepEqual([adminRole, adminPassword, adminDatabase], ['ad,min', 'p@ss,w', 'base'])
  assert.equal(
    addressOf({ ...host, addresses, adminRole, adminPassword, adminDatabase }),
    'a.example:5433,[::1]:5432,c:5432',
  )
  const alone = hostFromUrl(7, 'alone', 'postgresql://admin:p,w@a.example/base?application_name=x,y')
  assert.deepEqual([addressOf(alone), alone.adminPassword], ['a.example:5432', 'p,w'])
  for (const list of ['a,,b', ',a', 'a,'])
    assert.throws(() => hostFromUrl(7, 'pair', `postgresql://u@${list}/base`), /check its commas/)
  assert.throws(
    () => hostFromUrl(7, 'pair', 'postgresql://a,b/base?target_session_attrs=standby'),
    /only a primary/,
  )
})

test('a host whose servers do not answer is not added, and the error says so', async (t) => {
  const { service } = await setup(t, { isIsolated: true })
  const { installation } = service.services
  const gone = 'postgresql://postgres:secret@127.0.0.1:1,127.0.0.1:2/postgres'
  await assert.rejects(addHost(installation, 'pair', gone), (error) => {
    assert.match(String(error), /127.0.0.1:1,127.0.0.1:2 cannot be used: connect ECONNREFUSED/)
    assert.doesNotMatch(String(error), /secret/)
    return true
  })
})

/** The standby first. */
function addressesOf({ primaryUrl, standbyUrl }: StandbyPair): string {
  const [primary, standby] = [new URL(primaryUrl), new URL(standbyUrl)]
  const { username, password, pathname } = primary
  return `postgresql://${username}:${password}@${standby.host},${primary.host}${pathname}?target_session_attrs=read-write`
}

async function lagOf({ primaryUrl }: StandbyPair): Promise<string> {
  const { rows } = await runSql(
    { connectionString: primaryUrl },
    'select coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), -1)::text as lag from pg_stat_replication',
  )
  return rows[0].lag
}
