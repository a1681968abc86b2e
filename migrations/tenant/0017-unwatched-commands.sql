-- PostgreSQL runs EXPLAIN ANALYZE of CREATE TABLE AS, SELECT INTO and CREATE MATERIALIZED VIEW past every event trigger.
-- What comes about that way has no expressions but the query of a materialized view. It is judged afterwards: when a
-- request ran an EXPLAIN, by itself or in a DO, and when a key is removed.

-- Of what a key owns a materialized view goes whose query does more than compute: a query cannot be changed. What has a
-- name of PostGIS or of the service gets another one: others may depend on it by now. A key can also give what it owns to
-- the account's public role, of which it is a member: no event trigger watches REASSIGN OWNED either. Each call takes some
-- of them, as a transaction has only so many locks, and answers how many; 0 means that all is well.
create function cartage.judge_unwatched(role text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owners constant name[] := array(
    select unnest(array[key.role_name, owner.public_role])
    from cartage.roles key join cartage.accounts owner using (username)
    where key.role_name = role and key.key_type = 'regular');
  command text;
  judged integer := 0;
begin
  for command in
    -- A name that nobody can have taken in advance.
    select format('alter table %s rename to %I', relation, format('%s_%s', name, left(gen_random_uuid()::text, 8)))
    from unnest(owners) owner, cartodb._CDB_Misnamed(owner)
    union all
    select distinct removal
    from pg_class class, cartodb._CDB_Faults(class.oid)
    where class.relkind = 'm' and pg_get_userbyid(class.relowner) = any (owners) and place = 'its query'
    limit 100
  loop
    judged := judged + 1;
    begin
      execute command;
    exception when undefined_table or wrong_object_type then
      null;  -- It is gone, or has another name since: the next call sees it.
    end;
  end loop;
  return judged;
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
