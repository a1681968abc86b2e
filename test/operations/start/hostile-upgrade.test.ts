import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { findBinaries } from '../../../src/postgres/cluster/find-binaries.ts'
import { type Setup, setup, type TestUser } from '../../support/service/setup.ts'

// The commands of docs/operations.md, each against a tenant prepared to attack the operator.

const run = promisify(execFile)

/** Takes superuser if it can, and records who ran it. */
const trap = `
  create table caught (who text, is_super text);
  grant insert on caught to public;
  create function trap() returns boolean language plpgsql as $$
  begin
    insert into public.caught values (current_user, current_setting('is_superuser'));
    if current_setting('is_superuser') operator(pg_catalog.=) 'on' then
      execute format('alter role %I superuser', '$master');
    end if;
    return true;
  end $$;
  create function trap_always() returns boolean immutable language plpgsql as $$ begin return public.trap(); end $$;`

/** Names that an upgrade of PostGIS might call, in every form that matches better than PostgreSQL's own. */
const shadows = `
  create function public.shadow_name(name, text) returns boolean language plpgsql as $$ begin return public.trap(); end $$;
  create operator public.= (leftarg = name, rightarg = text, function = public.shadow_name);
  create function public.shadow_text(text, text) returns text language plpgsql as $$ begin perform public.trap(); return ''; end $$;
  create operator public.|| (leftarg = text, rightarg = text, function = public.shadow_text);
  create function public.format(text, text) returns text language plpgsql as $$ begin perform public.trap(); return 'select 1'; end $$;
  create function public.quote_ident(name) returns text language plpgsql as $$ begin perform public.trap(); return 'public'; end $$;
  create function public.postgis_lib_version() returns text language plpgsql as $$ begin perform public.trap(); return '0'; end $$;
  create function public.postgis_scripts_installed() returns text language plpgsql as $$ begin perform public.trap(); return '0'; end $$;
  create function public.postgis_extensions_upgrade() returns text language plpgsql as $$ begin perform public.trap(); return ''; end $$;
  create function public._postgis_drop_function_by_signature(text) returns void language plpgsql as $$ begin perform public.trap(); end $$;
  create function public._postgis_drop_function_by_identity(text, text) returns void language plpgsql as $$ begin perform public.trap(); end $$;
  create function public.geometry_same(geometry, geometry) returns boolean language plpgsql as $$ begin return public.trap(); end $$;
  create view public.pg_extension as select public.trap() as trapped, 'postgis'::name as extname;
  create view public.pg_proc as select public.trap() as trapped, 'x'::name as proname;`

async function assertNobodyCaught(context: Setup, user: TestUser): Promise<void> {
  const { rows } = await context.admin(
    `select * from public.caught where is_super = 'on'`,
    [],
    user.account.database,
  )
  assert.deepEqual(rows, [])
  const supers = await context.admin('select from pg_roles where rolsuper and rolname ~ $1', ['_u[0-9]+'])
  assert.equal(supers.rowCount, 0)
}

/** Runs a program of PostgreSQL as the operator would, or as a user with a password. */
async function program(
  { service }: Setup,
  name: string,
  args: readonly string[],
  as?: { user: string; password: string },
): Promise<string> {
  const [binaries] = await findBinaries()
  const { addresses, adminRole, adminPassword } = service.services.databases.hosts.get(1)
  const { stdout, stderr } = await run(join(binaries!.directory, name), args, {
    env: {
      ...process.env,
      PGHOST: addresses[0]!.host,
      PGPORT: String(addresses[0]!.port),
      PGUSER: as?.user ?? adminRole,
      PGPASSWORD: as?.password ?? adminPassword,
      PGOPTIONS: '-c search_path=pg_catalog',
    },
  })
  return stdout + stderr
}

test('upgrading PostGIS as the docs say runs nothing of a tenant', async (t) => {
  const context = await setup(t)
  const { user, admin } = context
  await user.sql(trap.replace('$master', user.account.masterRole) + shadows)
  await user.sql(`create table places (place geometry(Point, 4326) check (trap())); create index on places using gist (place);
    insert into places values ('SRID=4326;POINT(1 2)'); create view seen as select ST_AsText(place) as place from places`)
  const { rows } = await admin(
    `select extversion as installed from pg_extension where extname = 'postgis'`,
    [],
    user.account.database,
  )
  const upgrade = (version: string) =>
    program(context, 'psql', [
      ...['-X', '-v', 'ON_ERROR_STOP=1', '-d', user.account.database],
      ...['-c', `alter extension postgis update${version}`],
    ])
  await upgrade('')
  // There and back again, which runs every line of the script.
  await upgrade(` to '${rows[0].installed}next'`)
  await upgrade(` to '${rows[0].installed}'`)
  await assertNobodyCaught(context, user)
  assert.deepEqual((await user.sql('select * from seen')).rows, [{ place: 'POINT(1 2)' }])
})

test('a dump of a tenant is restored as the tenant and runs nothing as another role', async (t) => {
  const context = await setup(t)
  const { user, createUser } = context
  await user.sql(`${trap.replace('$master', user.account.masterRole)}
    create domain tricky as text check (trap()); create type tricks as (value tricky);
    create table data (name text check (trap()), wkt text); insert into data values ('a', 'POINT(1 2)');
    create index on data (trap_always()); create view literal as select '(x)'::tricks as trick from data;
    create materialized view kept as select trap() as t, name from data;
    create function on_row() returns trigger language plpgsql as $$ begin perform public.trap(); return new; end $$;
    create trigger on_row before insert on data for each row execute function on_row();
    create table prepared (name text); select CDB_CartodbfyTable('prepared'); insert into prepared (the_geom) values (CDB_LatLng(1, 2));
    delete from caught`)
  const heir = await createUser()
  const password = 'chosen for the restore'
  await context.admin(`alter role "${heir.account.masterRole}" password '${password}'`)
  const file = await dumpFile(t)
  await program(context, 'pg_dump', [
    ...['-Fc', '-d', user.account.database, '-n', 'public', '--no-owner', '--no-privileges'],
    ...['--no-publications', '--no-subscriptions', '-f', file],
  ])
  await assertNobodyCaught(context, user)
  const restored = await program(
    context,
    'pg_restore',
    ['-n', 'public', '--no-owner', '--no-privileges', '-d', heir.account.database, file],
    { user: heir.account.masterRole, password },
  ).catch((error: { stdout: string; stderr: string }) => error.stderr)
  assert.equal(restored, '')
  await assertNobodyCaught(context, heir)
  // The first request restores the role's password.
  assert.equal(
    (await fetch(`${heir.base}/api/v2/sql?q=select+*+from+data&api_key=${heir.masterToken}`)).status,
    200,
  )
  assert.deepEqual((await heir.sql('select name, wkt from data')).rows, [{ name: 'a', wkt: 'POINT(1 2)' }])
  assert.deepEqual((await heir.sql('select ST_AsText(the_geom) as g from prepared')).rows, [
    { g: 'POINT(2 1)' },
  ])
  await heir.sql(`insert into prepared (the_geom) values (CDB_LatLng(3, 4))`)
})

test('the docs have the commands that were tested', async () => {
  const docs = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  for (const part of [
    `PGOPTIONS='-c search_path=pg_catalog' psql -d cartage_u12 -c 'alter extension postgis update'`,
    '-n public --no-owner --no-privileges --no-publications --no-subscriptions',
    'pg_restore -n public --no-owner --no-privileges -U cartage_u40 -d cartage_u40',
  ]) {
    assert.ok(docs.includes(part), part)
  }
  assert.ok(!/select postgis_extensions_upgrade/.test(docs))
})

async function dumpFile(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-dump-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'dump')
}
