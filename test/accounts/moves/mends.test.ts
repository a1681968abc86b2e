import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ownMark } from '../../../src/postgres/cluster/processes.ts'
import { admin, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'
import { eventually } from '../../support/service/setup.ts'

test('a move waits for replicas, and a start removes the folder of a killed move', async (t) => {
  const { pid } = spawnSync('true')
  const [abandoned, used] = [pid, ownMark].map((mark) => join(tmpdir(), `cartage-move-${mark}-test`))
  for (const folder of [abandoned!, used!]) await mkdir(folder, { recursive: true })
  t.after(() => rm(used!, { recursive: true, force: true }))
  const { service, cluster, installation } = await startWithTwoHosts(t)
  await eventually(() => assert.deepEqual([existsSync(abandoned!), existsSync(used!)], [false, true]))

  const operator = admin(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  const expect = async (connectionString: string, names: string) => {
    await runSql({ connectionString }, `alter system set synchronous_standby_names = '${names}'`)
    await runSql({ connectionString }, 'select pg_reload_conf()')
  }
  await expect(cluster.url, 'nobody')
  const failed = await untilEnded(operator, (await operator.users.move('alice', 'second')).id)
  assert.match(failed.error ?? '', /replicas of the host 'second' have not confirmed/)
  assert.deepEqual(await leftOn(cluster.url, installation.config.namespace), [])
  await expect(cluster.url, '')
  assert.deepEqual((await alice.sql('select 1 as n')).rows, [{ n: 1 }])
})
