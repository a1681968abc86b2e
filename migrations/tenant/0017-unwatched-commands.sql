-- PostgreSQL runs EXPLAIN ANALYZE of CREATE TABLE AS, SELECT INTO and CREATE MATERIALIZED VIEW past every event trigger.
-- What comes about that way has no expressions but the query of a materialized view. It is judged afterwards: when a
-- request ran an EXPLAIN, by itself or in a DO, and when a key is removed.

-- Of what a key owns a materialized view goes whose query does more than compute: a query cannot be changed. What has a
-- name of PostGIS or of the service gets another one: others may depend on it by now. A key can also give what it owns to
-- the account's public role, of which it is a member: no event trigger watches REASSIGN OWNED either.
create function cartage.judge_unwatched(role text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owners constant name[] := array(
    select unnest(array[key.role_name, owner.public_role])
    from cartage.roles key join cartage.accounts owner using (username)
    where key.role_name = role and key.key_type = 'regular');
  command text;
begin
  for command in
    select removal
    from pg_class class, cartodb._CDB_Faults(class.oid)
    where class.relkind = 'm' and pg_get_userbyid(class.relowner) = any (owners) and place = 'its query'
    union
    select format('alter table %s rename to %I', relation, format('%s_%s', left(name, 40), relation::oid))
    from unnest(owners) owner, cartodb._CDB_Misnamed(owner)
    -- What is dropped has its old name.
    order by 1 desc
  loop
    begin
      execute command;
    exception when undefined_table or wrong_object_type then
      null;  -- It is gone, and what has its name now is judged by itself.
    end;
  end loop;
end
$$;

-- Puts grants in force that wait for a table which is there again.
create function cartage.follow_unwatched() returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select cartage.follow_table(made.oid)
  from (
    select distinct class.oid
    from cartage.grants intent
    join pg_namespace namespace on namespace.nspname = intent.schema_name
    join pg_class class on class.relnamespace = namespace.oid and class.relname = intent.table_name
    where not exists (select from pg_class where oid = intent.relation)
  ) made
$$;
