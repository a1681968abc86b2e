-- The database of alice, with the statements of 0.1.0 and what she did in it.
begin;
insert into cartage.accounts values ('alice', 'public', 'cartage_u1', 'cartage_u1_public', 104857600);
insert into cartage.roles values
  ('cartage_u1', 'alice', 'master', '{geocoding,routing,isolines,observatory}'), ('cartage_u1_public', 'alice', 'default', '{}');
grant create on database cartage_u1 to cartage_u1;
grant create on schema public to cartage_u1;
grant usage on schema public to cartage_u1_public;
grant connect on database cartage_u1 to cartage_u1_public;
grant temporary on database cartage_u1 to cartage_u1;
grant execute on function
  lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), pg_cancel_backend(integer), pg_terminate_backend(integer, bigint),
  pg_stat_get_activity(integer), pg_advisory_lock(bigint), pg_advisory_lock(integer, integer), pg_advisory_unlock(bigint),
  pg_advisory_unlock(integer, integer), pg_advisory_xact_lock(bigint), pg_advisory_xact_lock(integer, integer),
  pg_try_advisory_xact_lock(bigint), pg_try_advisory_xact_lock(integer, integer), xpath(text, xml), xpath(text, xml, text[]),
  xpath_exists(text, xml), xpath_exists(text, xml, text[]), pg_catalog.xmlexists(text, xml)
  to cartage_u1;
commit;

set session authorization cartage_u1;
set search_path = public, cartodb, postgis;
create table places (name text);
insert into places values ('Here'), ('There');
select CDB_CartodbfyTable('places');
update places set the_geom = CDB_LatLng(cartodb_id, 2 * cartodb_id);
create table made_by_job as select 7 as a;
reset session authorization;
reset search_path;

select cartage.admit_key(
  'alice', 'cartage_u1_k7', '{}', '[{"schema": "public", "name": "places", "permissions": ["select"]}]', '[]');
