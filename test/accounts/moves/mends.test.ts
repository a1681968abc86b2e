import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { admin, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql } from '../../support/runner/namespace.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'
import { eventually } from '../../support/service/setup.ts'

test('a move waits for replicas, and a start removes the folder of a killed move', async (t) => {
  const { pid } = spawnSync('true')
  const [abandoned, used] = [pid, process.pid].map((id) => join(tmpdir(), `cartage-move-${id}-test`))
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

test('a tenant that grants something to the role of a move again and again does not hold it up', async (t) => {
  const { service, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  await operator.hosts.change('second', { accepts_users: false })
  const [, bob] = [await newUser(service, 'alice'), await newUser(service, 'bob')]
  await operator.hosts.change('second', { accepts_users: true })
  const mover = `${installation.config.namespace}_u1_mover`
  await bob.sql(`
    create table bait (n int);
    create procedure grants() language plpgsql as $$
    begin
      loop
        begin
          execute 'grant select on bait to "${mover}"';
        exception when others then null;
        end;
        commit;
      end loop;
    end $$`)
  await bob.jobs.create('call grants()')
  await eventually(async () => assert.ok((await operator.activity()).running.length > 0))
  const move = await untilEnded(operator, (await operator.users.move('alice', 'second')).id, 90_000)
  assert.deepEqual([move.phase, move.error], ['done', null])
  const left = await leftOn(installation.keys.adminUrl, installation.config.namespace)
  assert.ok(!left.includes(mover), String(left))
  await operator.users.stopActivity('bob')
})
