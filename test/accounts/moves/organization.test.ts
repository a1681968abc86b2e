import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdminClient } from '../../../src/client/admin-client.ts'
import { type Client, createClient } from '../../../src/client/client.ts'
import type { RunningService } from '../../../src/service/service.ts'
import { admin, isError, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { leftOn, untilEnded } from '../../support/service/moving.ts'
import { eventually } from '../../support/service/setup.ts'

test('an organization moves with all members, their keys and what they share', async (t) => {
  const { service, cluster, installation } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const { boss, ann, ben } = await fillAcme(service, operator)
  const { token } = await ann.keys.create({
    name: 'reader',
    grants: [
      { type: 'apis', apis: ['sql'] },
      {
        type: 'database',
        tables: [{ schema: 'ann', name: 'cities', permissions: ['select', 'insert'] }],
        schemas: [{ name: 'ann', permissions: ['create'] }],
      },
    ],
  })
  const reader = createClient({ baseUrl: service.url, username: 'ann', token })
  await reader.sql(`create table reports as select n from generate_series(1, 9) n`)
  await ann.tables.setPrivacy('open', 'PUBLIC')
  await operator.users.suspend('ben', 'unpaid')
  const stranger = createClient({ baseUrl: service.url, username: 'ann', token: 'default_public' })
  const look = async () => [
    (await boss.sql('select name, size from ann.cities order by 1')).rows,
    (await boss.sql('select * from sums')).rows,
    (await ann.sql('select cartodb_id, name from cities order by 1')).rows,
    (await ann.sql('select * from reports order by 1')).rows,
    (await ann.sql(`select nextval('tickets') > 0 as goes, obj_description('cities'::regclass) as told`))
      .rows,
    (await reader.sql('select count(*) from cities')).rows,
    (await stranger.sql('select * from open')).rows,
    // A job adds a table to the grants of the master key.
    (await ann.keys.list({ type: 'regular' })).result,
    (await ann.tables.list()).visualizations.map(({ name, privacy }) => [name, privacy]).slice(0, 3),
    (await operator.users.read('ann')).quota_in_bytes,
  ]
  const before = await look()
  const jobs = await Promise.all(
    [ann, boss].map((client) =>
      client.jobs.create(['select pg_sleep(1)', 'create table worked as select 1 as n']),
    ),
  )

  const { id, phase, organization, username } = await operator.organizations.move('acme', 'second')
  assert.deepEqual([phase, organization, username], ['waiting', 'acme', null])
  const move = await untilEnded(operator, id, 120_000)
  assert.deepEqual([move.phase, move.error, move.progress], ['done', null, 100])
  assert.deepEqual(await look(), before)
  for (const [at, client] of [ann, boss].entries())
    assert.equal((await client.jobs.finished(jobs[at]!.job_id)).status, 'done')
  assert.deepEqual(
    (await operator.hosts.list()).map(({ databases }) => databases),
    [0, 1],
  )
  const { namespace } = installation.config
  assert.deepEqual(await leftOn(installation.keys.adminUrl, namespace), [])
  assert.ok(!(await leftOn(cluster.url, namespace)).some((name) => name.endsWith('_mover')))
  await keepsRights({ boss, ann, ben }, reader, operator)
  await takesMembers(service, operator)
})

/** Adds members and deletes them again. */
async function takesMembers({ url }: RunningService, operator: AdminClient): Promise<void> {
  const { api_key } = await operator.users.create({ username: 'cleo', organization: 'acme' })
  const cleo = createClient({ baseUrl: url, username: 'cleo', token: api_key })
  assert.deepEqual((await cleo.sql('select 1 as n')).rows, [{ n: 1 }])
  for (const name of ['cleo', 'ben']) await operator.users.delete(name)
}

/** Members keep the rights they shared, and get no others. */
async function keepsRights(
  { boss, ann, ben }: Readonly<Record<'boss' | 'ann' | 'ben', Client>>,
  reader: Client,
  operator: AdminClient,
): Promise<void> {
  await assert.rejects(ben.sql('select 1'), isError(403))
  await operator.users.resume('ben')
  await assert.rejects(ben.sql('select * from ann.cities'), /permission denied/)
  await assert.rejects(ben.sql('select ann.secret()'), /permission denied/)
  assert.deepEqual((await boss.sql('select ann.secret() as word')).rows, [{ word: 'xyzzy' }])
  await assert.rejects(boss.sql('insert into ann.cities (name) values (1)'), /permission denied/)
  await assert.rejects(ann.sql('delete from cities'), /foreign key/)
  await reader.sql(`insert into cities (name) values ('Ulm')`)
  await ann.sql('revoke select on cities from public')
  await assert.rejects(boss.sql(`select prosrc from pg_proc limit 1`), /permission denied/)
}

test('while an organization moves, adding and deleting a member is refused with 503', async (t) => {
  const { service } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const { ann } = await fillAcme(service, operator)
  await assert.rejects(operator.organizations.move('nobody', 'second'), isError(404))
  await assert.rejects(operator.organizations.move('acme', 'local'), /is on the host 'local' already/)
  await assert.rejects(operator.users.move('ann', 'second'), /move the organization/)
  // The check constraint runs again when the row is copied.
  await ann.sql(`
    create function slowly() returns boolean language sql as $$ select pg_catalog.pg_sleep(4) is not null $$;
    create table slow (n int check (ann.slowly())); insert into slow values (1)`)
  const { id } = await operator.organizations.move('acme', 'second')
  await assert.rejects(operator.organizations.move('acme', 'second'), isError(409))
  const impatient = createClient({ baseUrl: service.url, username: 'boss', token: 'wrong', retries: 0 })
  await eventually(async () => assert.notEqual((await operator.moves.read(id)).phase, 'waiting'))
  const busy = isError(409)
  await Promise.all([
    assert.rejects(operator.users.create({ username: 'dora', organization: 'acme' }), busy),
    assert.rejects(operator.users.delete('ben'), busy),
    assert.rejects(operator.organizations.delete('acme'), busy),
    assert.rejects(operator.users.change('ben', { quota_in_bytes: 5 }), busy),
    assert.rejects(impatient.sql('select 1'), isError(401)),
  ])
  const answers = await fetch(`${service.url}/user/ann/api/v2/sql?q=select+1`)
  assert.deepEqual([answers.status, Number(answers.headers.get('retry-after')) > 0], [503, true])
  assert.equal((await untilEnded(operator, id)).phase, 'done')
})

test("code of one member never runs with another's rights during a move", async (t) => {
  const { service } = await startWithTwoHosts(t)
  const operator = admin(service)
  t.after(() => operator.close())
  const { ann, ben } = await fillAcme(service, operator)
  // This code runs when its rows are copied, and would read or record what it can.
  await ben.sql(`
    create function ben.spy(n int) returns boolean language plpgsql as $$
    begin
      if exists (select from pg_catalog.pg_class where relname = 'cities' and pg_catalog.has_table_privilege(oid, 'select'))
        or exists (select from pg_catalog.pg_proc where proname = 'secret' and pg_catalog.has_function_privilege(oid, 'execute'))
        or exists (select from pg_catalog.pg_namespace where nspname in ('ann', 'boss') and
          (pg_catalog.has_schema_privilege(oid, 'usage') or pg_catalog.pg_has_role(session_user, nspowner, 'member')))
      then raise 'has the rights of another'; end if;
      return true;
    end $$;
    create table t (n int check (ben.spy(n))); insert into t values (1);
    create index on t ((n + 1)) where n > 0`)
  const move = await untilEnded(operator, (await operator.organizations.move('acme', 'second')).id)
  assert.deepEqual([move.phase, move.error], ['done', null])
  assert.deepEqual((await ben.sql('select n from t')).rows, [{ n: 1 }])
  assert.equal((await ann.sql('select * from cities')).rows.length, 40)
})

/** The organization `acme`: `boss` owns it and uses what `ann` shares; `ben` may use nothing of other members. */
async function fillAcme(service: RunningService, operator: AdminClient) {
  const { owner } = await operator.organizations.create({ name: 'acme', owner: { username: 'boss' } })
  const clientOf = (username: string, token: string) =>
    createClient({ baseUrl: service.url, username, token })
  const member = async (username: string) =>
    clientOf(
      username,
      (await operator.users.create({ username, organization: 'acme', quota_in_bytes: 10 ** 8 })).api_key,
    )
  const [boss, ann, ben] = [clientOf('boss', owner.api_key), await member('ann'), await member('ben')]
  const role = (await boss.sql('select current_user as role')).rows[0]!.role
  await ann.sql(`
    create type mood as enum ('calm', 'wild');
    create function secret() returns text language sql as $$ select 'xyzzy' $$;
    revoke execute on function secret() from public;
    grant execute on function secret() to "${role}";
    revoke usage on type mood from public;
    grant usage on type mood to "${role}";
    create table cities (name text unique, size mood default 'calm');
    insert into cities select 'city ' || n, 'wild' from generate_series(1, 40) n;
    comment on table cities is 'Cities';
    create sequence tickets;
    create table open as select 7 as n;
    grant usage on schema ann to "${role}";
    grant select, references on cities to "${role}"`)
  await ann.sql(`select cdb_cartodbfytable('ann', 'cities')`)
  await boss.sql(`
    create table feelings (name text references ann.cities (name), feeling ann.mood);
    insert into feelings select name, size from ann.cities where name <> 'city 1';
    create view many as select name, ann.secret() as word from ann.cities;
    create materialized view sums as select count(*) as n, max(word) as word from many`)
  return { boss, ann, ben }
}
