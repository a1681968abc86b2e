import type { Client } from '../../../src/client/client.ts'

/** Fills an account with one of everything that a tenant can have. */
export async function fillAccount(client: Client): Promise<Readonly<{ keyToken: string }>> {
  // A separate request: what an extension creates with the operator's rights is not the tenant's to grant.
  await client.sql('create extension hstore')
  await client.sql(richSchema)
  await client.sql(`select cdb_cartodbfytable('public', 'cities')`)
  const { token: keyToken } = await client.keys.create({
    name: 'reporter',
    grants: [
      { type: 'apis', apis: ['sql', 'maps'] },
      {
        type: 'database',
        tables: [
          { schema: 'public', name: 'cities', permissions: ['select', 'insert'] },
          { schema: 'archive', name: 'old "cities"', permissions: ['select'] },
        ],
        schemas: [{ name: 'public', permissions: ['create'] }],
      },
    ],
  })
  return { keyToken }
}

/** Objects that a key creates belong to the key. */
export const keySchema = `
  create table reports (id integer generated always as identity primary key, body jsonb default '{}');
  insert into reports (body) select jsonb_build_object('n', n) from generate_series(1, 20) n;
  create materialized view report_sums as select count(*) as n from reports;
  create view few_reports as select * from reports where id < 5`

const richSchema = `
  create schema archive;
  create domain positive as numeric check (value > 0);
  create type mood as enum ('calm', 'wild', 'it''s');
  create type pair as (a integer, b text);
  create function is_named(name text) returns boolean immutable language sql as $$ select pg_catalog.length(name) > 0 $$;
  create function count_cities() returns bigint language plpgsql security definer set search_path = public as
    $$ begin return (select count(*) from public.cities); end $$;
  create table cities (name text not null check (public.is_named(name)), size positive, feeling mood default 'calm',
    bytes bytea, tags hstore, pairs pair[], the_geom geometry(point, 4326), twice numeric generated always as (size * 2) stored);
  insert into cities (name, size, feeling, bytes, tags, pairs, the_geom)
    select 'city ' || n, n / 3.0, 'wild', decode(md5(n::text), 'hex'), hstore('n', n::text), array[row(n, 'x')::pair],
      st_setsrid(st_makepoint(n, n / 2.0), 4326) from generate_series(1, 80) n;
  create index cities_by_length on cities (public.is_named(name), lower(name));
  create statistics city_facts on name, size from cities;
  comment on table cities is 'Cities; with -- signs, and ''quotes''';
  comment on column cities.size is 'in people
of two lines';
  comment on function count_cities() is 'counts';
  create sequence tickets start 41 increment 7;
  select nextval('tickets'), nextval('tickets');
  create table archive."old ""cities""" (like cities including all);
  create table notes (id bigserial primary key, city text, written timestamptz default now(), secret boolean default false)
    with (fillfactor = 70);
  insert into notes (city, secret) select 'city ' || n, n % 2 = 0 from generate_series(1, 30) n;
  alter table notes enable row level security;
  alter table notes force row level security;
  create policy open_notes on notes using (not secret);
  create table parts (id integer, day date) partition by range (day);
  create table parts_2025 partition of parts for values from ('2025-01-01') to ('2026-01-01');
  insert into parts values (1, '2025-05-05'), (2, '2025-06-06');
  create table changed (at timestamptz, what text);
  create function note_change() returns trigger language plpgsql as
    $$ begin insert into public.changed values (now(), tg_op); return null; end $$;
  create trigger note_change after insert on notes for each statement execute function note_change();
  alter table notes disable trigger note_change;
  create view big_cities with (security_barrier) as select name, size from cities where size > 10;
  create materialized view size_sums as select feeling, sum(size) as total from cities group by feeling;
  create unique index on size_sums (feeling);
  create rule no_delete as on delete to changed do instead nothing;
  alter default privileges in schema archive grant select on tables to public;
  alter default privileges revoke execute on functions from public;
  grant select (name) on cities to public;
  revoke execute on function count_cities() from public;
  create function alike(a text, b text) returns boolean immutable language sql as $$ select pg_catalog.lower(a) = pg_catalog.lower(b) $$;
  create operator === (leftarg = text, rightarg = text, function = public.alike);
`

/** Everything that the user, its key and callers without a key see. */
export async function lookOver(user: Client, reporter: Client, stranger: Client) {
  const read = async (client: Client, names: readonly string[]) =>
    Promise.all(
      names.map(async (name) => (await client.sql(`select * from ${name} t order by t::text`)).rows),
    )
  const tables = ['cities', 'archive."old ""cities"""', 'parts', 'big_cities', 'size_sums', 'notes']
  const shared = ['reports', 'report_sums', 'few_reports', 'cities']
  return {
    own: await read(user, [...tables, 'reports']),
    keys: await read(reporter, shared),
    strangers: (await stranger.sql('select * from parts order by id')).rows,
    ticket: (await user.sql('select last_value from tickets')).rows,
    grants: (await user.keys.read('reporter')).grants,
    tables: (await user.tables.list()).visualizations.map(({ name, privacy }) => [name, privacy]),
  }
}
