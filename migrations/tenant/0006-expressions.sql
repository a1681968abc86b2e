-- Which functions an expression of a table calls, and whether they only compute.

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
-- compute. Not one in plpgsql: some of PostGIS put their arguments into SQL, and some change tables although they say that
-- they are stable.
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

-- Calls in the expressions of a relation that do more than compute.
create function cartodb._CDB_Faults(relation oid, out place text, out call regprocedure, out removal text)
returns setof record
language sql stable set search_path = pg_catalog, pg_temp as $$
  select expression.place, call::regprocedure, expression.removal
  from cartodb._CDB_Expressions(relation) expression, cartodb._CDB_Calls(expression.tree) call
  where not cartodb._CDB_IsHarmless(call)
$$;
