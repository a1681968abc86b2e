import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, createClient } from '../../../src/client/client.ts'
import { admin, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { runSql, withDatabase } from '../../support/runner/namespace.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'
import { fillAccount, keySchema } from '../../support/service/rich-account.ts'
import { readTile } from '../../support/tiles/tile-api.ts'

test('a user moves to another host with all its data and is served there', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const { api_key: token } = await operator.users.create({ username: 'alice', quota_in_bytes: 2 * 10 ** 7 })
  const alice = createClient({ baseUrl: service.url, username: 'alice', token })
  const { keyToken } = await fillAccount(alice)
  const reporter = createClient({ baseUrl: service.url, username: 'alice', token: keyToken })
  const stranger = createClient({ baseUrl: service.url, username: 'alice', token: 'default_public' })
  await reporter.sql(keySchema)
  await alice.tables.setPrivacy('parts', 'PUBLIC')
  const { namespace } = installation.config
  await alice.sql('create table worked (n integer)')
  await runSql(
    { connectionString: withDatabase(installation.keys.adminUrl, `${namespace}_u1`) },
    `select lo_from_bytea(4711, 'large'); alter large object 4711 owner to "${namespace}_u1"`,
  )
  const look = async () => [
    featuresOf(await alice.tiles.tile('cities', { z: 0, x: 0, y: 0 })),
    (await alice.sql('select lo_get(4711)')).rows,
    await lookOver(alice),
    await readAll(reporter, ['reports', 'report_sums', 'few_reports', 'cities', 'archive."old ""cities"""']),
    (await stranger.sql('select * from parts order by id')).rows,
    (await stranger.sql('select name from cities order by name')).rows,
    await alice.keys.list(),
    (await alice.tables.list()).visualizations.map(({ name, privacy }) => [name, privacy]),
  ]
  const before = await look()

  const works = async (n: number) =>
    (await alice.jobs.create(['select pg_sleep(1)', `insert into worked values (${n})`])).job_id
  const jobIds = await Promise.all([1, 2, 3, 4, 5, 6].map(works))
  const { id, phase } = await operator.users.move('alice', 'second')
  assert.equal(phase, 'waiting')
  const move = await untilEnded(operator, id)
  assert.deepEqual([move.phase, move.error, move.progress], ['done', null, 100])
  assert.deepEqual([move.from_host, move.to_host], ['local', 'second'])

  assert.deepEqual(await look(), before)
  for (const jobId of jobIds) assert.equal((await alice.jobs.finished(jobId)).status, 'done')
  const { rows: worked } = await alice.sql('select n from worked order by n')
  assert.deepEqual(
    worked,
    [1, 2, 3, 4, 5, 6].map((n) => ({ n })),
  )
  assert.deepEqual(
    (await operator.hosts.list()).map(({ name, databases }) => [name, databases]),
    [
      ['local', 0],
      ['second', 1],
    ],
  )
  assert.deepEqual(await leftOn(installation.keys.adminUrl, namespace), [])
  const names = await leftOn(cluster.url, namespace)
  assert.ok(names.length >= 3 && !names.some((name) => name.endsWith('_mover')), String(names))
  await lives(alice, reporter, stranger)
})

/** Sorted by id: a tile has them in the order of an index, which the move rebuilds. */
const featuresOf = (tile: Uint8Array) =>
  readTile(tile).cities!.toSorted((one, other) => Number(one.id) - Number(other.id))

/** Triggers, quota, grants, sequences, row security and code work as before. */
async function lives(alice: Client, reporter: Client, stranger: Client): Promise<void> {
  await reporter.sql(`insert into cities (name, size) values ('Ulm', 5)`)
  await assert.rejects(reporter.sql('delete from cities'), /permission denied/)
  await assert.rejects(stranger.sql('select size from cities'), /permission denied/)
  await assert.rejects(alice.sql(`insert into cities (name, size) values ('', 5)`), /check constraint/)
  await assert.rejects(
    reporter.sql('create function f() returns int language sql as $$ select 1 $$'),
    /not code/,
  )
  await assert.rejects(
    alice.sql(`create table much as select md5(n::text) from generate_series(1, 500000) n`),
    /[Qq]uota/,
  )
  await alice.sql('refresh materialized view size_sums')
  await alice.sql(`create table archive.later as select 1 as x`)
  assert.deepEqual(await stranger.sql('select * from few_reports').catch((e) => e.status), 403)
  await alice.sql('drop table archive.later')
}

async function lookOver(client: Client) {
  const facts = await client.sql(`
    select (select json_agg(n order by tabname) from (select tabname::text, updated_at from cdb_tablemetadata) n) as metadata,
      (select last_value from tickets) as ticket, count_cities() as cities, cdb_userdatasize() > 0 as stores,
      _cdb_userquotainbytes() as quota,
      (select json_agg(obj_description(oid) order by relname) from pg_class where relnamespace = 'public'::regnamespace) as comments,
      (select json_agg(defaclacl::text order by defaclobjtype) from pg_default_acl) as defaults,
      (select json_agg(extname order by extname) from pg_extension) as extensions,
      (select json_agg(relacl::text order by relname) from pg_class where relnamespace = 'public'::regnamespace) as access`)
  return [facts.rows, await readAll(client, tables)]
}

const tables = [
  'cities',
  'notes',
  'parts',
  'parts_2025',
  'changed',
  'big_cities',
  'size_sums',
  'archive."old ""cities"""',
]

const readAll = (client: Client, names: readonly string[]) =>
  Promise.all(names.map(async (name) => (await client.sql(`select t::text from ${name} t order by 1`)).rows))
