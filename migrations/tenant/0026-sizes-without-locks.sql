-- Sizes are read from the files: pg_total_relation_size waits for every table that somebody is altering.

-- Bytes on disk of these tables with all that belongs to them.
create function cartage.stored_bytes(relations oid[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  segment_bytes constant bigint := pg_size_bytes(current_setting('segment_size'));
  bytes bigint;
  has_vanished boolean;
begin
  for attempt in 1..3 loop
    with recursive
    mine as (
      select oid as relation, reltoastrelid from pg_class where oid = any (relations)
    ),
    tables as (
      select relation from mine
      union all
      select reltoastrelid from mine where reltoastrelid <> 0
    ),
    stored as (
      select relation from tables
      union all
      select indexrelid from tables join pg_index on indrelid = relation
    ),
    files (path, fork, segment, size) as (
      select path || fork, fork, 0, (pg_stat_file(path || fork, true)).size
      from stored, pg_relation_filepath(relation) path, unnest('{"",_fsm,_vm,_init}'::text[]) fork
      where path is not null
      union all
      select path, fork, segment + 1, (pg_stat_file(path || '.' || segment + 1, true)).size
      from files where size = segment_bytes
    )
    select coalesce(sum(size), 0), bool_or(size is null and fork = '' and segment = 0) into bytes, has_vanished
    from files;
    -- A table rewritten between the look-up of its path and the look at its file is measured again.
    exit when has_vanished is not true;
  end loop;
  return bytes;
end
$$;

create or replace function cartage.data_size(account text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return cartage.stored_bytes(array(select relation from cartage.account_relations where username = account));
end
$$;

create function cartodb._CDB_StoredBytes(relation oid) returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp
return cartage.stored_bytes(array[relation]);
