-- The database of acme, with the statements of 0.1.0 and what its members did in it.
begin;
insert into cartage.accounts values
  ('olga', 'olga', 'cartage_u2', 'cartage_u2_public', 0), ('max', 'max', 'cartage_u3', 'cartage_u3_public', 0);
insert into cartage.roles values
  ('cartage_u2', 'olga', 'master', '{geocoding,routing,isolines,observatory}'), ('cartage_u2_public', 'olga', 'default', '{}'),
  ('cartage_u3', 'max', 'master', '{geocoding,routing,isolines,observatory}'), ('cartage_u3_public', 'max', 'default', '{}');
create schema olga authorization cartage_u2;
create schema max authorization cartage_u3;
select cartage.hide_code();
grant usage on schema olga to cartage_u2_public;
grant usage on schema max to cartage_u3_public;
grant connect on database cartage_o1 to cartage_u2_public, cartage_u3_public;
grant temporary on database cartage_o1 to cartage_u2, cartage_u3, cartage_u3_k8;
grant execute on function
  lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), pg_cancel_backend(integer), pg_terminate_backend(integer, bigint),
  pg_stat_get_activity(integer), pg_advisory_lock(bigint), pg_advisory_lock(integer, integer), pg_advisory_unlock(bigint),
  pg_advisory_unlock(integer, integer), pg_advisory_xact_lock(bigint), pg_advisory_xact_lock(integer, integer),
  pg_try_advisory_xact_lock(bigint), pg_try_advisory_xact_lock(integer, integer), xpath(text, xml), xpath(text, xml, text[]),
  xpath_exists(text, xml), xpath_exists(text, xml, text[]), pg_catalog.xmlexists(text, xml)
  to cartage_u2, cartage_u3;
commit;

set session authorization cartage_u2;
set search_path = olga, cartodb, postgis;
create table shared (a int);
insert into shared values (1), (2);
grant usage on schema olga to cartage_u3;
grant select on shared to cartage_u3;

set session authorization cartage_u3;
set search_path = max, cartodb, postgis;
create table notes (id serial, text text);
insert into notes (text) values ('first');
reset session authorization;
reset search_path;

select cartage.admit_key(
  'max', 'cartage_u3_k8', '{}',
  '[{"schema": "max", "name": "notes", "permissions": ["select", "insert"]},
    {"schema": "olga", "name": "shared", "permissions": ["select"]}]', '[]');
