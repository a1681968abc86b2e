import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admin, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { untilEnded } from '../../support/service/moving.ts'

/** The size of the moved account. docs/operations.md has figures of larger ones. */
const megabytes = Number(process.env.CARTAGE_TEST_MOVE_MB ?? 5)

test('a move reports from when to when the user was not served', async (t) => {
  const { service } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  await alice.jobs.run(`create table places as
    select n as id, md5(n::text) as name, random() as size, st_setsrid(st_makepoint(n % 180, n % 90), 4326) as the_geom
    from generate_series(1, ${megabytes * 7_500}) n`)
  await alice.jobs.run('alter table places add primary key (id)')
  await alice.jobs.run('create index on places using gist (the_geom)')
  const { rows } = await alice.sql('select pg_size_pretty(pg_total_relation_size($$places$$)) as size')
  const move = await untilEnded(operator, (await operator.users.move('alice', 'second')).id, 600_000)
  assert.deepEqual([move.phase, move.error], ['done', null])
  const pauseMs = Date.parse(move.served_at!) - Date.parse(move.stopped_at!)
  assert.ok(pauseMs > 0 && Date.parse(move.ended_at!) >= Date.parse(move.served_at!))
  t.diagnostic(`${rows[0]!.size}: not served for ${(pauseMs / 1_000).toFixed(1)} s`)
})
