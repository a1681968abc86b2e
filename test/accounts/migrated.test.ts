import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createUser } from '../../src/accounts/create-user.ts'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { migrateTenants, prepareTemplate } from '../../src/hosts/tenant-databases.ts'
import { createKey } from '../../src/keys/create-key.ts'
import { quoteLiteral } from '../../src/postgres/quote.ts'
import { randomName, type Setup, setup } from '../setup.ts'

/** A user as the version with these migrations made it, in a database that has no later ones. */
async function earlierUser(t: TestContext, context: Setup, newest: string) {
  const { accounts, databases } = context.service.services
  const earlier = {
    ...accounts,
    namespace: `${accounts.namespace}_earlier`,
    tenantMigrations: accounts.tenantMigrations.filter(({ name }) => name <= newest),
  }
  await prepareTemplate(earlier, 1)
  t.after(() => context.admin(`drop database "${earlier.namespace}_template"`))
  const { account } = await createUser(earlier, { username: randomName('earlier') })
  t.after(() => deleteUser(accounts, account.username))
  const key = await createKey(accounts, account, {
    name: 'k',
    grants: {
      apis: ['sql'],
      services: [],
      hasTableMetadata: false,
      tables: [],
      schemas: [{ name: 'public', permissions: ['create'] }],
    },
    defaultQuota: 0,
  })
  const run = (text: string, role = account.masterRole) => {
    const target = { hostId: 1, database: account.database, role, searchPath: 'public,cartodb,postgis' }
    return databases.query.use(target, (session) => session.query(text))
  }
  return { account, key, run, migrate: () => migrateTenants(accounts, 1) }
}

const before = '0012-key-hand-over'

test('PostGIS of an existing database moves to a schema of its own, with all that stands on it', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  const { account, run, migrate } = await earlierUser(t, context, before)
  await run(`create schema postgis; create table postgis.kept as select 1 as id;
    create table places (wkt text); insert into places values ('POINT(1 2)'); select CDB_CartodbfyTable('places');
    create index on places using gist (geography(the_geom)) where the_geom is not null;
    create table lines (g geometry(LineStringZ, 25830) default 'SRID=25830;LINESTRING Z (1 2 3, 4 5 6)', at geography);
    insert into lines default values;
    create view seen as select ST_Transform(g, 4326) as g, g && ST_MakeEnvelope(0, 0, 9, 9, 25830) as near from lines;
    create function far(geometry) returns geometry language sql immutable return ST_Translate($1, 1, 1)`)
  await migrate()
  const moved = await run(
    `select ST_AsText(far(the_geom)) as far, CDB_ColumnType('places', 'the_geom') as type from places`,
  )
  assert.deepEqual(moved.rows, [{ far: 'POINT(2 3)', type: 'geometry' }])
  assert.deepEqual((await run('select near, ST_SRID(g) as srid from seen')).rows, [
    { near: true, srid: 4326 },
  ])
  assert.deepEqual((await run('select id from postgis_1.kept')).rows, [{ id: 1 }])
  const plan = [
    await run(`set enable_seqscan = off;
      explain (costs off) select from places where the_geom && ST_MakeEnvelope(0, 0, 3, 3, 4326)`),
  ].flat()
  assert.match(JSON.stringify(plan.at(-1)?.rows), /Index/)
  await run(`insert into places (the_geom) values (CDB_LatLng(3, 4)); select CDB_CartodbfyTable('places');
    create table more (wkt text); insert into more values ('POINT(1 2)'); select CDB_CartodbfyTable('more')`)
  const fresh = await postgisOf(admin, user.account.database)
  assert.deepEqual(await postgisOf(admin, account.database), fresh)
  assert.ok(fresh.length > 700)
})

/** Every function of the extension with its text. */
async function postgisOf(admin: Setup['admin'], database: string) {
  const { rows } = await admin(
    `select oid::regprocedure::text as name, prosrc, probin, proconfig, proacl from pg_proc
     where pronamespace = 'postgis'::regnamespace order by 1`,
    [],
    database,
  )
  return rows
}

test('what keys made of code before they could not goes, and their data stays', async (t) => {
  const context = await setup(t)
  const { key, run, migrate } = await earlierUser(t, context, before)
  await run(`create table caught (who text); grant insert on caught to public`)
  await run(
    `create function trap() returns boolean language plpgsql as
       $$ begin insert into public.caught values (current_user); return true; end $$;
     create function trap_always() returns boolean language plpgsql immutable as $$ begin return public.trap(); end $$;
     create function trap_row() returns trigger language plpgsql as $$ begin perform public.trap(); return new; end $$;
     create function public.st_asgeojson(geometry, integer) returns text language plpgsql as $$ begin raise 'trapped'; end $$;
     create function gives() returns int language plpgsql immutable as $$ begin return 1; end $$;
     create domain tricky as text check (trap()); create type mood as enum ('ok');
     create function mood_of(text) returns mood language plpgsql as $$ begin perform public.trap(); return 'ok'; end $$;
     create cast (text as mood) with function mood_of(text);
     create table made (id int default case when trap() then 1 end, v text check (trap()),
       w text check (set_config('a.b', 'c', true) <> ''), d tricky, g int generated always as (gives()) stored, m mood);
     insert into made (v) values ('kept');
     create trigger row before insert on made for each row execute function trap_row();
     create rule also as on insert to made do also select trap();
     alter table made enable row level security, force row level security;
     create policy p on made using (trap()); create index i on made (trap_always());
     create statistics s on (trap_always()::text), v from made;
     create view seen as select trap() as t, * from made;
     create view effect as select set_config('role', 'none', true)`,
    key.role,
  )
  await run('delete from caught')
  await migrate()
  await run(
    `alter table made no force row level security; insert into made (v, d) values ('new', 'x'); analyze made`,
  )
  assert.deepEqual((await run('select v, g from made order by v')).rows, [
    { v: 'kept', g: 1 },
    { v: 'new', g: null },
  ])
  assert.deepEqual((await run('select * from caught')).rows, [])
  const left = await run(`select proname from pg_proc where proowner = ${quoteLiteral(key.role)}::regrole`)
  assert.deepEqual(left.rows, [{ proname: 'mood_of' }])
  await assert.rejects(run(`select 'ok'::text::mood`), /made by an API key/)
  const views = await run(`select relname from pg_class where relname in ('seen', 'effect')`)
  assert.deepEqual(views.rows, [])
})

test('a transaction of a tenant does not keep its database as it was', async (t) => {
  const context = await setup(t)
  const { account, run, migrate } = await earlierUser(t, context, before)
  const { databases } = context.service.services
  const target = { hostId: 1, database: account.database, role: account.masterRole, searchPath: 'public' }
  const holder = await databases.job.acquire(target)
  t.after(() => holder.destroy())
  await holder.query('begin; select from spatial_ref_sys limit 1; select pg_advisory_lock(7238001)')
  assert.equal(await migrate(), true)
  assert.equal((await run('select from postgis.spatial_ref_sys limit 1')).rowCount, 1)
})

test('strangers of an existing account lose temporary tables and the sight of sessions; its keys and master do not', async (t) => {
  const context = await setup(t)
  const { account, key, migrate } = await earlierUser(t, context, before)
  const { publicRole, masterRole, database } = account
  const admin = (text: string, values: unknown[] = []) => context.admin(text, values, database)
  await admin(`grant temporary on database "${database}" to "${publicRole}";
    revoke temporary on database "${database}" from "${masterRole}", "${key.role}"`)
  await migrate()
  const { rows } = await admin(
    `select role, has_database_privilege(role, current_database(), 'temporary') as temporary,
       has_function_privilege(role, 'pg_stat_get_activity(integer)', 'execute') as sees,
       has_function_privilege(role, 'pg_terminate_backend(integer, bigint)', 'execute') as ends
     from unnest($1::text[]) with ordinality given(role, place) order by place`,
    [[publicRole, key.role, masterRole]],
  )
  assert.deepEqual(rows, [
    { role: publicRole, temporary: false, sees: false, ends: false },
    { role: key.role, temporary: true, sees: false, ends: false },
    { role: masterRole, temporary: true, sees: true, ends: true },
  ])
})
