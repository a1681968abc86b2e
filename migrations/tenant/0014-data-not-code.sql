-- A key creates data, not code: tables, views, sequences, indexes. Whatever carries code, or changes what a name means,
-- would sooner or later run as somebody else who touches it. Judged is the role that a command runs as, so that a
-- SECURITY DEFINER function of the master role may do what the master role may.

-- What kind of key a role stands for; null for whoever is no tenant.
create function cartodb._CDB_KeyType(role name) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
return (select key_type from cartage.roles where role_name = role);

drop event trigger cartage_refuse_drop_owned;
drop function cartage.refuse_drop_owned();

-- Before a command: by its tag. CREATE EXTENSION, for one, would run scripts as the operator. (DROP OWNED by any tenant
-- would take away the grants that hold its own account together.)
create function cartage.check_command() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  for_keys constant text[] := '{
    CREATE TABLE,CREATE TABLE AS,SELECT INTO,CREATE VIEW,CREATE MATERIALIZED VIEW,REFRESH MATERIALIZED VIEW,
    CREATE SEQUENCE,CREATE INDEX,CREATE TRIGGER,ALTER TABLE,ALTER VIEW,ALTER MATERIALIZED VIEW,ALTER SEQUENCE,
    ALTER INDEX,COMMENT,GRANT,REVOKE}';
  key_type text;
begin
  if tg_tag = any (for_keys) or tg_tag ~ '^DROP ' and tg_tag <> 'DROP OWNED' then
    return;
  end if;
  key_type := cartodb._CDB_KeyType(current_user);
  if key_type is null or key_type = 'master' and tg_tag <> 'DROP OWNED' then
    return;
  elsif key_type = 'master' then
    raise exception '% is not allowed', tg_tag using errcode = 'insufficient_privilege';
  end if;
  raise exception 'an API key creates data, not code: % is not allowed', tg_tag
    using errcode = 'insufficient_privilege', hint = 'Use the master key.';
end
$$;

create event trigger cartage_check_command on ddl_command_start execute function cartage.check_command();

-- Where a relation holds expressions, as PostgreSQL's own trees, and how each is taken away.
create function cartodb._CDB_Expressions(relation oid, out place text, out tree text, out removal text)
returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  select 'its query', ev_action::text,
    format('drop %s %s cascade', case relkind when 'm' then 'materialized view' else 'view' end, relation::regclass)
  from pg_rewrite join pg_class on pg_class.oid = ev_class
  where ev_class = relation and rulename = '_RETURN'
  union all
  select 'rule ' || rulename, concat(ev_action, ev_qual), format('drop rule %I on %s', rulename, relation::regclass)
  from pg_rewrite where ev_class = relation and rulename <> '_RETURN'
  union all
  select 'column ' || attname, adbin::text, format('alter table %s alter column %I drop %s', relation::regclass, attname,
    case attgenerated when '' then 'default' else 'expression' end)
  from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
  where adrelid = relation
  union all
  select 'constraint ' || conname,
    concat(conbin, (select string_agg(' :opfuncid ' || oprcode::oid, '') from pg_operator where oid = any (conexclop))),
    format('alter table %s drop constraint %I', relation::regclass, conname)
  from pg_constraint where conrelid = relation and (conbin is not null or conexclop is not null)
  union all
  select 'index ' || indexrelid::regclass, concat(indexprs, indpred), format('drop index %s cascade', indexrelid::regclass)
  from pg_index where indrelid = relation and (indexprs is not null or indpred is not null)
  union all
  select 'statistics ' || stxname, stxexprs::text, format('drop statistics %s.%I', stxnamespace::regnamespace, stxname)
  from pg_statistic_ext where stxrelid = relation and stxexprs is not null
  union all
  select 'policy ' || polname, concat(polqual, polwithcheck), format('drop policy %I on %s', polname, relation::regclass)
  from pg_policy where polrelid = relation
  union all
  select 'trigger ' || tgname, concat(tgqual, ' :funcid ', tgfoid), format('drop trigger %I on %s', tgname, relation::regclass)
  from pg_trigger where tgrelid = relation and not tgisinternal and tgparentid = 0
  union all
  select 'its partitions', partexprs::text, null
  from pg_partitioned_table where partrelid = relation and partexprs is not null
$$;

-- The functions that an expression calls. (Built-in ones are in no list of dependencies.)
create function cartodb._CDB_Calls(tree text) returns setof oid
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
  select distinct match[1]::oid
  from regexp_matches(tree, ':(?:funcid|opfuncid|hashfuncid|negfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') match
  where match[1] <> '0'
$$;

-- May whoever evaluates an expression call this function without knowing? It is the operator's, and does nothing but
-- compute: it changes nothing, waits for nothing and runs no SQL that it is given.
create function cartodb._CDB_IsHarmless(function oid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((
    select case nspname
      when 'cartodb' then proname !~ '^_' and provolatile <> 'v' or prorettype = 'trigger'::regtype
      when 'postgis' then provolatile <> 'v'
        or proname = any ('{st_generatepoints,st_clusterkmeans,st_symmetricdifference}')
      when 'pg_catalog' then (provolatile <> 'v' or proname = any ('{
          nextval,currval,lastval,random,gen_random_uuid,clock_timestamp,timeofday,
          pg_relation_size,pg_table_size,pg_indexes_size,pg_total_relation_size,pg_database_size}'))
        and proname !~ '_to_xml|^ts_(stat|rewrite)$'
    end
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where pg_proc.oid = function), false)
$$;

-- After a command of a key: what it made is of a kind that a key may make, and its expressions only compute.
create function cartage.check_made() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  made record;
  trigger_place text;
  fault record;
begin
  if coalesce(cartodb._CDB_KeyType(current_user), 'master') = 'master' then
    return;
  end if;
  for made in
    select * from pg_event_trigger_ddl_commands() where command_tag not in ('GRANT', 'REVOKE', 'COMMENT')
  loop
    trigger_place := null;
    if made.classid = 'pg_trigger'::regclass then
      select tgrelid, 'trigger ' || tgname into made.objid, trigger_place from pg_trigger where oid = made.objid;
    elsif made.classid = 'pg_class'::regclass and made.object_type ~ '^index' then
      made.objid := (select indrelid from pg_index where indexrelid = made.objid);
    elsif not (made.classid = 'pg_class'::regclass
          and made.object_type ~ '^(table|view|materialized view|sequence)( column)?$'
        or made.classid = 'pg_constraint'::regclass and made.object_type = 'table constraint') then
      raise exception 'an API key creates data, not code: no %', made.object_type
        using errcode = 'insufficient_privilege', hint = 'Use the master key.';
    end if;
    select place, call into fault
    from cartodb._CDB_Expressions(made.objid), cartodb._CDB_Calls(tree) call
    -- Triggers, policies and rules that are there already are the master role's.
    where (place !~ '^(trigger|policy|rule) ' or place = trigger_place) and not cartodb._CDB_IsHarmless(call)
    limit 1;
    if found then
      raise exception 'an API key creates data, not code: % of % calls %',
          fault.place, made.objid::regclass, fault.call::regprocedure
        using errcode = 'insufficient_privilege',
          hint = 'Expressions may call functions of PostgreSQL, PostGIS and cartodb that only compute.';
    end if;
  end loop;
end
$$;

create event trigger cartage_check_made on ddl_command_end
  when tag in (
    'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE VIEW', 'CREATE MATERIALIZED VIEW', 'CREATE SEQUENCE',
    'CREATE INDEX', 'CREATE TRIGGER', 'ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER SEQUENCE',
    'ALTER INDEX')
  execute function cartage.check_made();

-- Functions that run SQL given as text would make an expression into code of any kind. Nobody needs them.
do $$
declare
  routine regprocedure;
begin
  for routine in
    select oid from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace
      and (proname ~ '^(query|cursor|table|schema|database)_to_xml' or proname = 'ts_stat'
        or proname = 'ts_rewrite' and pronargs = 2)
  loop
    execute format('revoke execute on function %s from public', routine);
  end loop;
end
$$;

-- Code that a role made while keys still could: expressions on its relations that call functions of a key, or that do
-- more than compute, are dropped, and so are rules, which run as the owner of the table, and its routines. A routine that something else stands on fails from now on.
create function cartage.remove_code(owner oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  command text;
  routine record;
begin
  for command in
    select distinct removal
    from pg_class class, cartodb._CDB_Expressions(class.oid)
    where class.relowner = owner and removal is not null
      and (place ~ '^rule ' or exists (
        select from cartodb._CDB_Calls(tree) call
        join pg_proc on pg_proc.oid = call
        join pg_namespace on pg_namespace.oid = pronamespace
        where case
          when nspname in ('pg_catalog', 'postgis', 'cartodb') then not cartodb._CDB_IsHarmless(call)
          else coalesce(cartodb._CDB_KeyType(pg_get_userbyid(proowner)), 'master') <> 'master'
        end))
  loop
    begin
      execute command;
    exception when undefined_object or undefined_table then
      null;  -- It went with another one.
    end;
  end loop;
  for command in
    select format('alter domain %s drop constraint %I', contypid::regtype, conname)
    from pg_constraint join pg_type on pg_type.oid = contypid
    where typowner = owner
  loop
    -- In a block that catches: ALTER DOMAIN leaves messages to caches behind, with which no later block could begin.
    begin
      execute command;
    exception when undefined_object then
      null;
    end;
  end loop;
  for routine in
    select oid, oid::regprocedure as name, case prokind when 'p' then 'procedure' else 'function' end as kind,
      format('%s.%I', pronamespace::regnamespace, proname) as place
    from pg_proc where proowner = owner and prokind <> 'a'
  loop
    begin
      execute format('drop routine %s', routine.name);
    exception when dependent_objects_still_exist then
      execute format('create or replace %s %s(%s) %s language plpgsql as %L', routine.kind, routine.place,
        pg_get_function_arguments(routine.oid), 'returns ' || pg_get_function_result(routine.oid),
        $body$begin raise exception 'this function was made by an API key, which creates data, not code'; end$body$);
    end;
  end loop;
end
$$;

select cartage.remove_code(oid) from pg_authid where cartodb._CDB_KeyType(rolname) <> 'master';
