-- PostgreSQL does not change the type of a column that a view, a trigger or a policy uses. These functions
-- take such objects away and put them back as they were: definition, owner, grants, comments.
-- All of it runs with the caller's rights. Preparing a table changes nobody's role: code that runs meanwhile could change it
-- back. A table is prepared by its owner, or by the master role if it is a key's and holds nothing but data. What a key
-- owns is made by the master role and then given to the key.

create function cartodb._CDB_MayPrepare(owner name) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return owner = current_user or cartodb._CDB_IsKeyOf(owner, current_user);

-- Grants and revokes what it takes to make the privileges on a relation, or on one of its columns, the wanted ones.
create function cartodb._CDB_RestoreGrants(relation regclass, wanted aclitem[], column_name name default null)
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  present constant aclitem[] := case
    when column_name is null then
      (select coalesce(relacl, acldefault('r', relowner)) from pg_class where oid = relation)
    else
      (select attacl from pg_attribute where attrelid = relation and attname = column_name)
  end;
  place constant text := coalesce(' (' || quote_ident(column_name) || ')', '') || format(' on %s', relation);
  command text;
begin
  for command in
    with
    -- aclexplode does not take an empty array.
    wished as (
      select grantee, privilege_type, is_grantable from unnest(wanted) item, aclexplode(array[item])
    ),
    found as (
      select grantee, privilege_type, is_grantable from unnest(present) item, aclexplode(array[item])
    ),
    differences as (
      select 'revoke %s%s from %s' as act, * from (table found except table wished) superfluous
      union all
      select 'grant %s%s to %s' || case when is_grantable then ' with grant option' else '' end, *
      from (table wished except table found) missing
    )
    select format(act, privilege_type, place,
      case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end)
    from differences
    order by act desc
  loop
    execute command;
  end loop;
end
$$;

-- The commands that make a trigger, a policy or a view again, in order.
create function cartodb._CDB_TriggerCommands(trigger oid) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select unnest(array[
    pg_get_triggerdef(oid),
    case tgenabled
      when 'D' then format('alter table %s disable trigger %I', tgrelid::regclass, tgname)
      when 'R' then format('alter table %s enable replica trigger %I', tgrelid::regclass, tgname)
      when 'A' then format('alter table %s enable always trigger %I', tgrelid::regclass, tgname)
    end,
    format('comment on trigger %I on %s is ', tgname, tgrelid::regclass)
      || quote_literal(obj_description(oid, 'pg_trigger'))])
  from pg_trigger
  where oid = trigger and not tgisinternal
$$;

create function cartodb._CDB_PolicyCommands(policy oid) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select unnest(array[
    format('create policy %I on %s as %s for %s to %s', polname, polrelid::regclass,
        case when polpermissive then 'permissive' else 'restrictive' end,
        case polcmd
          when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all'
        end,
        (select string_agg(case role when 0 then 'public' else quote_ident(pg_get_userbyid(role)) end, ', ')
         from unnest(polroles) role))
      || coalesce(format(' using (%s)', pg_get_expr(polqual, polrelid)), '')
      || coalesce(format(' with check (%s)', pg_get_expr(polwithcheck, polrelid)), ''),
    format('comment on policy %I on %s is ', polname, polrelid::regclass)
      || quote_literal(obj_description(oid, 'pg_policy'))])
  from pg_policy
  where oid = policy
$$;

-- A materialized view is filled last, when it has its owner: PostgreSQL runs its query as that one.
create function cartodb._CDB_ViewCommands(view regclass) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  with described as (
    select *, case relkind when 'm' then 'materialized view' else 'view' end as kind
    from pg_class where oid = view
  )
  select command
  from (
    select 1 as step, format('create %s %s %s as %s %s', kind, view,
      (select 'with (' || string_agg(format('%I = %L', option_name, option_value), ', ') || ')'
       from pg_options_to_table(reloptions)),
      rtrim(pg_get_viewdef(view), ';'),
      case relkind when 'm' then 'with no data' end) as command
    from described
    union all
    select 2, format('alter view %s alter column %I set default %s', view, attname, pg_get_expr(adbin, adrelid))
    from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
    where adrelid = view
    union all
    select 2, pg_get_indexdef(indexrelid) from pg_index where indrelid = view
    union all
    select 2, pg_get_ruledef(oid) from pg_rewrite where ev_class = view and rulename <> '_RETURN'
    union all
    select 2, created from pg_trigger, cartodb._CDB_TriggerCommands(oid) created where tgrelid = view
    union all
    select 3, format('comment on %s %s is %L', kind, view, description)
    from described join pg_description on objoid = view and classoid = 'pg_class'::regclass and objsubid = 0
    union all
    select 3, format('comment on column %s.%I is %L', view, attname, description)
    from pg_attribute join pg_description on objoid = attrelid and classoid = 'pg_class'::regclass and objsubid = attnum
    where attrelid = view
    union all
    select 4, format('alter %s %s owner to %I', kind, view, cartodb._CDB_OwnerOf(view))
    from described where cartodb._CDB_OwnerOf(view) <> current_user
    union all
    select 5, format('select cartodb._CDB_RestoreGrants(%L, %L)', view, coalesce(relacl, acldefault('r', relowner)))
    from described
    union all
    select 5, format('select cartodb._CDB_RestoreGrants(%L, %L, %L)', view, attacl, attname)
    from pg_attribute where attrelid = view and attacl is not null
    union all
    select 6, format('refresh materialized view %s', view) from described where relkind = 'm' and relispopulated
  ) commands
  order by step
$$;

-- What uses the given columns of a table, or of the tables that inherit them: the deepest view first, each with
-- its owner, the command that drops it and those that make it again.
create function cartodb._CDB_Dependents(relation regclass, columns name[])
returns table (object text, owner name, drop_command text, commands text[])
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive
  family (relation) as (
    select relation::oid
    union
    select inhrelid from family join pg_inherits on inhparent = family.relation
  ),
  used as (
    select classid, objid
    from family
    join pg_attribute on attrelid = family.relation and attname = any (columns)
    join pg_depend on refclassid = 'pg_class'::regclass and refobjid = attrelid and refobjsubid = attnum
  ),
  views (view, depth) as (
    select ev_class, 1 from used join pg_rewrite on classid = 'pg_rewrite'::regclass and oid = objid
    where ev_class not in (select family.relation from family)
    union
    select ev_class, depth + 1
    from views
    join pg_depend on refclassid = 'pg_class'::regclass and refobjid = view and classid = 'pg_rewrite'::regclass
    join pg_rewrite on oid = objid and ev_class <> view
  ),
  dependents as (
    select 'view ' || view::regclass as object, max(depth) as depth, view as owned_by,
           format('drop %s %s', case relkind when 'm' then 'materialized view' else 'view' end, view::regclass)
             as drop_command,
           array(select cartodb._CDB_ViewCommands(view)) as commands
    from views join pg_class on oid = view and relkind in ('v', 'm')
    group by view, relkind
    union all
    select 'trigger ' || tgname, 0, tgrelid, format('drop trigger %I on %s', tgname, tgrelid::regclass),
           array(select cartodb._CDB_TriggerCommands(oid))
    from pg_trigger
    where oid in (select objid from used where classid = 'pg_trigger'::regclass)
      and not tgisinternal and tgparentid = 0
    union all
    select 'policy ' || polname, 0, polrelid, format('drop policy %I on %s', polname, polrelid::regclass),
           array(select cartodb._CDB_PolicyCommands(oid))
    from pg_policy
    where oid in (select objid from used where classid = 'pg_policy'::regclass)
  )
  select object, pg_get_userbyid(relowner), drop_command, commands
  from dependents join pg_class on oid = owned_by
  order by depth desc
$$;

-- Gives the columns of a table the types of a prepared one, and the geometry that is in `source`, in one ALTER TABLE: the
-- table is written once. Drops what uses the columns before, and makes it again after. (It is given no text to run:
-- anybody can call it, and a text could be an EXPLAIN, which no event trigger watches.)
create function cartodb._CDB_AlterColumns(relation regclass, source name) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  changes constant text[] := cartodb._CDB_KeyChanges(relation) || cartodb._CDB_GeometryChanges(relation, source);
  columns constant name[] := array(
    select name from unnest('{cartodb_id,the_geom,the_geom_webmercator}'::name[]) name
    where array_to_string(changes, ';') like format('%%alter column %I type%%', name));
  dependents constant jsonb := (select jsonb_agg(one) from cartodb._CDB_Dependents(relation, columns) one);
  dependent record;
begin
  if changes = '{}' then
    return;
  end if;
  for dependent in
    select * from jsonb_to_recordset(dependents) as saved (object text, owner name, drop_command text)
  loop
    if not cartodb._CDB_MayPrepare(dependent.owner) then
      raise exception '% uses table % and belongs to another user', dependent.object, relation
        using errcode = 'dependent_objects_still_exist', hint = 'Its owner has to drop it first.';
    end if;
    execute dependent.drop_command;
  end loop;

  execute format('alter table %s %s', relation, array_to_string(changes, ', '));

  for dependent in
    select step.command
    from rows from (jsonb_to_recordset(dependents) as (commands text[])) with ordinality as saved (commands, place),
         unnest(saved.commands) with ordinality as step (command, place)
    where step.command is not null
    order by saved.place desc, step.place
  loop
    execute dependent.command;
  end loop;
end
$$;
