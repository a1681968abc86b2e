-- Preparing a table changes nobody's role: code that runs meanwhile could change it back. A table is prepared by its
-- owner, or by the master role if it is a key's and holds nothing but data. What a key owns is made by the master role
-- and then given to the key.

create function cartodb._CDB_IsKeyOf(key name, master name) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
return exists (
  select from cartage.roles role join cartage.accounts owner on owner.username = role.username
  where role.role_name = key and role.key_type = 'regular' and owner.master_role = master
);

create function cartodb._CDB_MayPrepare(owner name) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return owner = current_user or cartodb._CDB_IsKeyOf(owner, current_user);

create function cartodb._CDB_OwnerOf(relation regclass) returns name
language sql stable set search_path = pg_catalog, pg_temp
return (select pg_get_userbyid(relowner) from pg_catalog.pg_class where oid = relation);

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
    raise exception '% of table % calls %, which is not yours', fault.place, fault.relation, fault.call
      using errcode = 'insufficient_privilege', hint = 'Drop it, or let the owner of the table prepare it.';
  end if;
end
$$;

-- What of a table, or of the tables that inherit from it, would run code that is neither the caller's nor harmless.
create function cartodb._CDB_CodeOfOthers(relation regclass, out relation regclass, out place text, out call regprocedure)
returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive family (member) as (
    select $1::oid
    union
    select inhrelid from family join pg_inherits on inhparent = member
  )
  select member::regclass, expression.place, call::regprocedure
  from family
  join pg_class on pg_class.oid = member and pg_get_userbyid(relowner) <> current_user
  cross join lateral cartodb._CDB_Expressions(member) expression
  cross join lateral cartodb._CDB_Calls(expression.tree) call
  join pg_proc on pg_proc.oid = call
  where pg_get_userbyid(proowner) <> current_user and not cartodb._CDB_IsHarmless(call)
$$;

-- A materialized view is filled last, when it has its owner: PostgreSQL runs its query as that one.
create or replace function cartodb._CDB_ViewCommands(view regclass) returns setof text
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

create or replace function cartodb._CDB_AlterColumns(relation regclass, columns name[], command text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  dependents constant jsonb := (select jsonb_agg(one) from cartodb._CDB_Dependents(relation, columns) one);
  dependent record;
begin
  for dependent in
    select * from jsonb_to_recordset(dependents) as saved (object text, owner name, drop_command text)
  loop
    if not cartodb._CDB_MayPrepare(dependent.owner) then
      raise exception '% uses table % and belongs to another user', dependent.object, relation
        using errcode = 'dependent_objects_still_exist', hint = 'Its owner has to drop it first.';
    end if;
    execute dependent.drop_command;
  end loop;

  execute command;

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

create or replace function cartodb._CDB_DemoteKey(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  key pg_constraint;
  foreign_keys jsonb;
  foreign_key record;
begin
  select * into key from pg_constraint where conrelid = relation and contype = 'p';
  if not found then
    return;
  end if;
  select jsonb_agg(jsonb_build_object(
    'owner', pg_get_userbyid(relowner), 'name', conname, 'table', conrelid::regclass::text,
    'definition', pg_get_constraintdef(pg_constraint.oid))) into foreign_keys
  from pg_constraint join pg_class on pg_class.oid = conrelid
  where contype = 'f' and conindid = key.conindid and conparentid = 0;

  for foreign_key in select * from jsonb_to_recordset(foreign_keys) as saved (owner name, name name, "table" text) loop
    if not cartodb._CDB_MayPrepare(foreign_key.owner) then
      raise exception 'table % refers to table % and belongs to another user', foreign_key.table, relation
        using errcode = 'dependent_objects_still_exist', hint = 'Its owner has to drop the foreign key first.';
    end if;
    execute format('alter table %s drop constraint %I', foreign_key.table, foreign_key.name);
  end loop;
  execute format('alter table %s drop constraint %I, add constraint %2$I %s', relation, key.conname,
    regexp_replace(pg_get_constraintdef(key.oid), '^PRIMARY KEY', 'UNIQUE'));
  for foreign_key in
    select * from jsonb_to_recordset(foreign_keys) as saved (name name, "table" text, definition text)
  loop
    execute format('alter table %s add constraint %I %s', foreign_key.table, foreign_key.name, foreign_key.definition);
  end loop;
end
$$;

create or replace function cartodb._CDB_AddSequence(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner constant name := cartodb._CDB_OwnerOf(relation);
  sequence text;
begin
  select format('%I.%I', nspname, cartodb._CDB_FreeName(relnamespace, relname, '_cartodb_id_seq')) into sequence
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where pg_class.oid = relation;
  execute format('create sequence %s as %s', sequence, cartodb._CDB_ExactType(relation, 'cartodb_id'));
  if owner <> current_user then
    execute format('alter sequence %s owner to %I', sequence, owner);
  end if;
  execute format('alter sequence %s owned by %s.cartodb_id', sequence, relation);
  execute format('alter table %s alter column cartodb_id set default nextval(%L)', relation, sequence);
end
$$;

create or replace function cartodb.CDB_CartodbfyTable(reloid regclass) returns regclass
language plpgsql strict set search_path = pg_catalog, pg_temp as $$
declare
  command text;
begin
  perform cartodb._CDB_CheckTable(reloid);
  if cartodb._CDB_IsPrepared(reloid) then
    perform cartodb._CDB_AdvanceSequence(reloid);
    return reloid;
  end if;

  execute format('lock table %s in access exclusive mode', reloid);
  -- Until the lock was there, the owner could still change the table.
  perform cartodb._CDB_CheckTable(reloid);
  perform cartodb._CDB_NameColumns(reloid);
  perform cartodb._CDB_ConvertColumns(reloid);
  if not cartodb._CDB_HasKey(reloid) then
    perform cartodb._CDB_AddKey(reloid);
  end if;
  if cartodb._CDB_KeySequence(reloid) is null then
    perform cartodb._CDB_AddSequence(reloid);
  end if;
  perform cartodb._CDB_AdvanceSequence(reloid);
  perform cartodb._CDB_ShareSequence(reloid);
  for command in select part from cartodb._CDB_MissingParts(reloid) part where part is not null loop
    execute command;
  end loop;

  perform cartodb.CDB_TableMetadataTouch(reloid);
  perform cartodb._CDB_CheckQuotaOf(reloid);
  return reloid;
end
$$;

drop function cartodb._CDB_RunAs(name, text);

-- Who is asking. Code of a tenant also runs where session_user is the operator: in autovacuum, and in maintenance by
-- hand. So functions with the operator's rights serve tenants alone, and the operator is known by current_user, in
-- functions that run as their caller.

create function cartodb._CDB_IsOperator() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return (select rolsuper from pg_catalog.pg_roles where rolname = current_user);

create function cartage.account_of_schema(schema text) returns cartage.accounts
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  account cartage.accounts;
begin
  select * into account from cartage.accounts where schema_name = schema;
  if not found then
    raise exception 'Invalid schema name "%"', schema using errcode = 'invalid_schema_name';
  end if;
  return account;
end
$$;

create or replace function cartage.account_for_caller(schema text) returns cartage.accounts
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  caller constant text := cartodb.CDB_Username();
  account cartage.accounts;
begin
  if schema is null and caller is not null then
    select * into account from cartage.accounts where username = caller;
    return account;
  end if;
  account := cartage.account_of_schema(coalesce(schema, 'public'));
  if account.username is distinct from caller then
    raise exception 'permission denied for schema %', schema using errcode = 'insufficient_privilege';
  end if;
  return account;
end
$$;

alter function cartodb._CDB_UserQuotaInBytes(text) rename to _CDB_OwnQuotaInBytes;
alter function cartodb.CDB_UserDataSize(text) rename to _CDB_OwnDataSize;
alter function cartodb.CDB_TableMetadataTouch(regclass) rename to _CDB_Touch;

create function cartodb._CDB_UserQuotaInBytes(schema_name text) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_IsOperator() then
    return (cartage.account_of_schema(schema_name)).quota_in_bytes;
  end if;
  return cartodb._CDB_OwnQuotaInBytes(schema_name);
end
$$;

create function cartodb.CDB_UserDataSize(schema_name text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_IsOperator() then
    return cartage.data_size((cartage.account_of_schema(schema_name)).username);
  end if;
  return cartodb._CDB_OwnDataSize(schema_name);
end
$$;

create or replace function cartodb.CDB_SetUserQuotaInBytes(schema_name text, bytes bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update cartage.accounts set quota_in_bytes = bytes
  where username = (cartage.account_of_schema($1)).username;
  return bytes;
end
$$;

create or replace function cartodb._CDB_Touch(tablename regclass) returns void
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb.CDB_Username() is null
    or not has_table_privilege(session_user, tablename, 'INSERT, UPDATE, DELETE, TRUNCATE') then
    raise exception 'permission denied for table %', tablename using errcode = 'insufficient_privilege';
  end if;
  perform cartage.record_change(tablename);
end
$$;

create function cartodb.CDB_TableMetadataTouch(tablename regclass) returns void
language plpgsql strict set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb._CDB_IsOperator() then
    perform cartage.record_change(tablename);
  else
    perform cartodb._CDB_Touch(tablename);
  end if;
end
$$;

create or replace function cartodb._CDB_CheckQuotaOf(relation regclass) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if cartodb.CDB_Username() is not null
    and pg_has_role(session_user, (select relowner from pg_class where oid = relation), 'USAGE') then
    perform cartage.enforce_quota(username) from cartage.account_relations mine where mine.relation = $1;
  end if;
end
$$;
