-- Members of an organization share a database, so a key can use what another member has made. A type brings code along:
-- the CHECK of a domain runs for each value that becomes one, a cast wherever its owner says so. So do a view, whose
-- functions run as the reader, and row security. Whatever of another user an object of a key refers to counts as code.

-- As the others below, in a schema that is open to all: the event triggers run with the rights of their caller.
create function cartodb._CDB_RelationDrop(relation oid) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select format('drop %s %s cascade',
    case relkind when 'm' then 'materialized view' when 'v' then 'view' else 'table' end, oid::regclass)
  from pg_class where oid = relation
$$;

-- The parts of a relation that can hold code: where, as the catalogs name it, as PostgreSQL's own tree, and the command
-- that takes it away. A column is one by its type. What is inherited goes with the parent's.
drop function cartodb._CDB_Expressions(oid);
create function cartodb._CDB_Expressions(
  relation oid, out place text, out catalog oid, out object oid, out subobject integer, out tree text, out removal text)
returns setof record
language sql stable rows 10 set search_path = pg_catalog, pg_temp as $$
  select 'its query', 'pg_rewrite'::regclass::oid, pg_rewrite.oid, 0, ev_action::text, cartodb._CDB_RelationDrop(relation)
  from pg_rewrite
  where ev_class = relation and rulename = '_RETURN'
  union all
  select 'rule ' || rulename, 'pg_rewrite'::regclass, oid, 0, concat(ev_action, ev_qual),
    format('drop rule %I on %s', rulename, relation::regclass)
  from pg_rewrite where ev_class = relation and rulename <> '_RETURN'
  union all
  select 'column ' || attname, 'pg_attrdef'::regclass, pg_attrdef.oid, 0, adbin::text,
    format('alter table %s alter column %I drop %s', relation::regclass, attname,
      case attgenerated when '' then 'default' else 'expression' end)
  from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
  where adrelid = relation
  union all
  select 'column ' || attname, 'pg_class'::regclass, relation, attnum, null, case
      when attinhcount > 0 then null
      when reloftype <> 0 then format('alter table %s not of', relation::regclass)
      -- (A column by which a table or one of its parts is partitioned cannot be dropped.)
      when relkind in ('v', 'm', 'p') then cartodb._CDB_RelationDrop(relation)
      else format('alter table %s drop column %I cascade', relation::regclass, attname)
    end
  from pg_attribute
  join pg_class on pg_class.oid = attrelid
  where attrelid = relation and attnum > 0 and not attisdropped
  union all
  select 'its type', 'pg_class'::regclass, relation, 0, null, format('alter table %s not of', relation::regclass)
  from pg_class where oid = relation and reloftype <> 0
  union all
  select 'constraint ' || conname, 'pg_constraint'::regclass, oid, 0,
    concat(conbin, (select string_agg(' :opfuncid ' || oprcode::oid, '') from pg_operator where oid = any (conexclop))),
    format('alter table %s drop constraint %I', relation::regclass, conname)
  from pg_constraint where conrelid = relation
  union all
  select 'index ' || indexrelid::regclass, 'pg_class'::regclass, indexrelid, 0, concat(indexprs, indpred),
    format('drop index %s cascade', indexrelid::regclass)
  from pg_index where indrelid = relation
  union all
  select 'statistics ' || stxname, 'pg_statistic_ext'::regclass, oid, 0, stxexprs::text,
    format('drop statistics %s.%I', stxnamespace::regnamespace, stxname)
  from pg_statistic_ext where stxrelid = relation
  union all
  select 'policy ' || polname, 'pg_policy'::regclass, oid, 0, concat(polqual, polwithcheck),
    format('drop policy %I on %s', polname, relation::regclass)
  from pg_policy where polrelid = relation
  union all
  select 'trigger ' || tgname, 'pg_trigger'::regclass, oid, 0, concat(tgqual, ' :funcid ', tgfoid),
    format('drop trigger %I on %s', tgname, relation::regclass)
  from pg_trigger where tgrelid = relation and not tgisinternal and tgparentid = 0
  union all
  select 'its partitions', 'pg_class'::regclass, relation, 0, partexprs::text,
    case when reloftype = 0 then cartodb._CDB_RelationDrop(relation) end
  from pg_partitioned_table join pg_class on pg_class.oid = partrelid
  where partrelid = relation
$$;

-- What the parts of a relation refer to that belongs to another user than the role's. PostgreSQL lists all that an
-- expression names and that did not come with PostgreSQL: types, operators, collations, functions. A type is followed to
-- what it is made of. A table is data, unless reading it runs code: a view, row security.
create function cartodb._CDB_UsedOfOthers(role oid, relation oid, out place text, out removal text, out used text)
returns setof record
language plpgsql stable security definer rows 10 set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from cartage.accounts offset 1) then
    return;
  end if;
  return query
  with recursive named as materialized (
    select expression.place, expression.removal, refclassid, refobjid
    from cartodb._CDB_Expressions(relation) expression
    join pg_depend on classid = catalog and objid = object and (catalog <> 'pg_class'::regclass or objsubid = subobject)
    left join pg_class on refclassid = 'pg_class'::regclass and pg_class.oid = refobjid
    where refclassid <> 'pg_namespace'::regclass and (pg_class.oid is null or relkind in ('v', 'f') or relrowsecurity)
  ),
  type (named_as, oid) as (
    select refobjid, refobjid from named where refclassid = 'pg_type'::regclass
    union
    select named_as, part
    from type
    cross join lateral (
      select element from pg_type, unnest(array[typelem, typbasetype]) element where pg_type.oid = type.oid and element <> 0
      union all
      select atttypid from pg_type join pg_attribute on attrelid = typrelid
      where pg_type.oid = type.oid and attnum > 0 and not attisdropped
      union all
      select rngsubtype from pg_range where rngtypid = type.oid
      union all
      select rngtypid from pg_range where rngmultitypid = type.oid
    ) inside (part)
  ),
  owned (named_in, named_as, classid, objid, owner) as (
    select 'pg_type'::regclass::oid, named_as, 'pg_type'::regclass::oid, oid, typowner from type join pg_type using (oid)
    union all
    select distinct refclassid, refobjid, refclassid, refobjid, owner.role
    from named
    cross join lateral (
      select pg_shdepend.refobjid as role from pg_shdepend
      where dbid = (select oid from pg_database where datname = current_database())
        and classid = named.refclassid and objid = named.refobjid and objsubid = 0
        and pg_shdepend.refclassid = 'pg_authid'::regclass and deptype = 'o') owner
    where refclassid <> 'pg_type'::regclass
  )
  select named.place, named.removal, pg_describe_object(owned.classid, owned.objid, 0)
  from owned
  join named on refclassid = named_in and refobjid = named_as
  join cartage.roles other on other.role_name = pg_get_userbyid(owned.owner)
  where not exists (
    select from cartage.roles own where own.role_name = pg_get_userbyid(role) and own.username = other.username);
end
$$;

-- What in the parts of a relation does more than compute: calls, and what belongs to another user.
drop function cartodb._CDB_Faults(oid);
create function cartodb._CDB_Faults(relation oid, out place text, out fault text, out removal text)
returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  select expression.place, 'calls ' || call::regprocedure, expression.removal
  from cartodb._CDB_Expressions(relation) expression, cartodb._CDB_Calls(expression.tree) call
  where not cartodb._CDB_IsHarmless(call)
  union all
  select others.place, 'uses ' || used || ', which belongs to another user', others.removal
  from pg_class, cartodb._CDB_UsedOfOthers(relowner, relation) others
  where pg_class.oid = relation
$$;

create or replace function cartage.check_made() returns event_trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  made record;
  trigger_place text;
  found_fault record;
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
    select place, fault into found_fault
    from cartodb._CDB_Faults(made.objid)
    -- Triggers, policies and rules that are there already are the master role's.
    where place !~ '^(trigger|policy|rule) ' or place = trigger_place
    limit 1;
    if found then
      raise exception 'an API key creates data, not code: % of % %', found_fault.place, made.objid::regclass, found_fault.fault
        using errcode = 'insufficient_privilege',
          hint = case when found_fault.fault ~ '^calls '
            then 'Expressions may call functions of PostgreSQL, PostGIS and cartodb that only compute.'
            else 'Use a type of PostgreSQL, PostGIS or your own, and tables without row security; or use the master key.'
          end;
    end if;
  end loop;
end
$$;

-- EXPLAIN ANALYZE makes tables past the event triggers. What they have of another user is the type of a column.
create or replace function cartage.judge_unwatched(role text) returns integer
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
    where class.relkind = 'm' and pg_get_userbyid(class.relowner) = any (owners) and place ~ '^(its query$|column )'
    union all
    select distinct removal
    from pg_class class, cartodb._CDB_UsedOfOthers(class.relowner, class.oid)
    where class.relkind in ('r', 'p') and pg_get_userbyid(class.relowner) = any (owners)
      and place ~ '^(column |its )' and removal is not null
    limit 100
  loop
    judged := judged + 1;
    begin
      execute command;
    exception when undefined_table or undefined_column or wrong_object_type then
      null;  -- It is gone, or has another name since: the next call sees it.
    end;
  end loop;
  return judged;
end
$$;

-- What of a relation calls code of a key, does more than compute or is of another user, as the command that takes it away.
create or replace function cartage.code_of(relation oid) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select removal
  from cartodb._CDB_Expressions(relation)
  where removal is not null and (place ~ '^rule ' or exists (
    select from cartodb._CDB_Calls(tree) call
    join pg_proc on pg_proc.oid = call
    join pg_namespace on pg_namespace.oid = pronamespace
    where case
      when nspname in ('pg_catalog', 'postgis', 'cartodb') then not cartodb._CDB_IsHarmless(call)
      else coalesce(cartodb._CDB_KeyType(pg_get_userbyid(proowner)), 'master') <> 'master'
    end))
  union all
  select removal
  from pg_class, cartodb._CDB_UsedOfOthers(relowner, relation)
  where pg_class.oid = relation and removal is not null
$$;

create or replace function cartage.remove_code(owner oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  command text;
  routine record;
begin
  for command in
    select distinct removal from pg_class, cartage.code_of(oid) removal where relowner = owner
  loop
    begin
      execute command;
    exception when undefined_object or undefined_table or undefined_column then
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

-- What of a table, or of the tables that inherit from it, would run code that is neither the caller's nor harmless.
drop function cartodb._CDB_CodeOfOthers(regclass);
create function cartodb._CDB_CodeOfOthers(relation regclass, out relation regclass, out place text, out fault text)
returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive family (member) as (
    select $1::oid
    union
    select inhrelid from family join pg_inherits on inhparent = member
  )
  select member::regclass, expression.place, 'calls ' || call::regprocedure
  from family
  join pg_class on pg_class.oid = member and pg_get_userbyid(relowner) <> current_user
  cross join lateral cartodb._CDB_Expressions(member) expression
  cross join lateral cartodb._CDB_Calls(expression.tree) call
  join pg_proc on pg_proc.oid = call
  where pg_get_userbyid(proowner) <> current_user and not cartodb._CDB_IsHarmless(call)
  union all
  select member::regclass, others.place, 'uses ' || used
  from family
  join pg_class on pg_class.oid = member and pg_get_userbyid(relowner) <> current_user
  cross join lateral cartodb._CDB_UsedOfOthers(to_regrole(quote_ident(current_user)), member) others
$$;

create or replace function cartodb._CDB_CheckTable(relation regclass) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  class pg_class;
  fault record;
begin
  select * into class from pg_class where oid = relation;
  if not found then
    raise exception 'relation with OID % does not exist', relation::oid using errcode = 'undefined_table';
  elsif not cartodb._CDB_MayPrepare(pg_get_userbyid(class.relowner)) then
    raise exception 'must be owner of table %', class.relname using errcode = 'insufficient_privilege';
  elsif class.relkind not in ('r', 'p') or class.relpersistence = 't' then
    raise exception '% is not a table that can be prepared: it is a view, foreign or temporary', relation
      using errcode = 'wrong_object_type';
  elsif class.relispartition then
    raise exception '% is a partition: prepare table % instead', relation, pg_partition_root(relation)
      using errcode = 'wrong_object_type';
  end if;
  select * into fault from cartodb._CDB_CodeOfOthers(relation);
  if found then
    raise exception '% of table % %, which is not yours', fault.place, fault.relation, fault.fault
      using errcode = 'insufficient_privilege', hint = 'Drop it, or let the owner of the table prepare it.';
  end if;
end
$$;

-- Does a role belong to another user than the caller? The console reads nothing of theirs unless it is asked to.
create function cartodb._CDB_IsOfAnotherUser(role oid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
return exists (
  select from cartage.roles
  where role_name = pg_catalog.pg_get_userbyid(role) and username is distinct from cartodb.CDB_Username());
