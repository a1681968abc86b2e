-- Code that is part of a table or view: the functions that its expressions call, and the types that it uses.
--
-- Such code runs as the role that touches the table. Members of an organization share a database, so a key can use what another
-- member has made, and that brings code along: the CHECK of a domain runs for each value, a cast wherever its owner says so,
-- the functions of a view and of row security as the reader. The functions below are in schema `cartodb`, which is open to all,
-- because event triggers call them with the rights of their caller.

create function cartodb._CDB_RelationDrop(relation oid) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select format('drop %s %s cascade',
    case relkind when 'm' then 'materialized view' when 'v' then 'view' else 'table' end, oid::regclass)
  from pg_class where oid = relation
$$;

-- The parts of a relation that can hold code: the place in words, its address in the catalogs, PostgreSQL's own tree of the
-- expression, and the command that removes it. A column counts for its type. What is inherited is removed with the part of
-- the parent.
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

-- The functions that an expression calls. (pg_depend does not list built-in ones.)
create function cartodb._CDB_Calls(tree text) returns setof oid
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
  select distinct match[1]::oid
  from regexp_matches(tree, ':(?:funcid|opfuncid|hashfuncid|negfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') match
  where match[1] <> '0'
$$;

-- Whether a function only computes, so that an expression of another user may call it. It must be the operator's. Functions in
-- PL/pgSQL do not count: some of PostGIS put their arguments into SQL, and some change tables although they are declared
-- stable.
create function cartodb._CDB_IsHarmless(function oid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((
    select case nspname
      when 'cartodb' then proname = any ('{cdb_transformtowebmercator,cdb_latlng}') or prorettype = 'trigger'::regtype
      when 'postgis' then lanname in ('internal', 'c', 'sql') and proname !~ 'postgis|extent$|^(_st_|st_)?estimated'
        and (provolatile <> 'v' or proname = any ('{st_generatepoints,st_clusterkmeans,st_symmetricdifference}'))
        or lanname in ('internal', 'c', 'sql') and proname in ('st_extent', 'st_3dextent')
      when 'pg_catalog' then (provolatile <> 'v' or proname = any ('{
          nextval,currval,lastval,random,gen_random_uuid,clock_timestamp,timeofday,
          pg_relation_size,pg_table_size,pg_indexes_size,pg_total_relation_size,pg_database_size}'))
        and proname !~ '_to_xml|^ts_(stat|rewrite)$'
    end
    from pg_proc
    join pg_namespace on pg_namespace.oid = pronamespace
    join pg_language on pg_language.oid = prolang
    where pg_proc.oid = function), false)
$$;

-- What the parts of a relation use that belongs to another user than the role's. PostgreSQL lists all that an expression
-- names and that did not come with PostgreSQL: types, operators, collations, functions. A type is followed to the types that
-- it is made of. A table is data, unless reading it runs code: a view, row security.
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

-- What in a table, or in the tables that inherit from it, would run code that is neither the caller's nor harmless.
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

-- Whether a role belongs to another user than the caller. The console reads nothing of theirs unless it is asked to.
create function cartodb._CDB_IsOfAnotherUser(role oid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
return exists (
  select from cartage.roles
  where role_name = pg_catalog.pg_get_userbyid(role) and username is distinct from cartodb.CDB_Username());
