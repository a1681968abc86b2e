-- Which state of the database a view, a materialized view or a query over some relations shows.
--
-- The sources of a layer are what its rows depend on: relations, each with the role whose rights count (0: the role that asks),
-- functions, and enums. They are found once, from the query trees that PostgreSQL stores with views. The state of the sources
-- then tells in one look-up whether anything has changed, also whether the sources themselves have: each is found through rows
-- of catalogues that are part of the state.

-- What a stored query tree names. `is_plain` is false if it has a node that is not known here to give the same value each time:
-- CURRENT_TIMESTAMP, CURRENT_USER, TABLESAMPLE, FOR UPDATE, a system column, a cast through text of a type whose text depends on
-- settings. A name in a tree has a backslash before each blank and brace, so it cannot look like a node or a member.
create function cartage.tree_parts(tree text, out relations oid[], out functions oid[], out types oid[], out is_plain boolean)
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  casts int;
begin
  is_plain := tree !~ ':varattno -' and not exists (
    select from regexp_matches(tree, '\{([A-Z_0-9]+)', 'g') node where node[1] not in (
      'QUERY', 'RTE', 'RANGETBLENTRY', 'RTEPERMISSIONINFO', 'ALIAS', 'RANGETBLREF', 'RANGETBLFUNCTION', 'FROMEXPR', 'JOINEXPR',
      'TARGETENTRY', 'COMMONTABLEEXPR', 'SETOPERATIONSTMT', 'SORTGROUPCLAUSE', 'GROUPINGSET', 'WINDOWCLAUSE', 'GROUPINGFUNC',
      'VAR', 'CONST', 'PARAM', 'AGGREF', 'WINDOWFUNC', 'FUNCEXPR', 'NAMEDARGEXPR', 'OPEXPR', 'DISTINCTEXPR', 'NULLIFEXPR',
      'SCALARARRAYOPEXPR', 'BOOLEXPR', 'SUBLINK', 'RELABELTYPE', 'COERCEVIAIO', 'ARRAYCOERCEEXPR', 'COLLATEEXPR', 'CASE', 'CASEEXPR',
      'WHEN', 'CASEWHEN', 'CASETESTEXPR', 'ARRAY', 'ARRAYEXPR', 'ROW', 'ROWEXPR', 'COALESCE', 'COALESCEEXPR', 'MINMAX', 'MINMAXEXPR',
      'NULLTEST', 'BOOLEANTEST', 'SUBSCRIPTINGREF', 'FIELDSELECT'));
  relations := array(select distinct part[1]::oid from regexp_matches(tree, ':relid ([0-9]+)', 'g') part where part[1] <> '0');
  functions := array(
    select part[1]::oid
    from regexp_matches(tree, ':(?:funcid|opfuncid|aggfnoid|winfnoid|startInRangeFunc|endInRangeFunc) ([0-9]+)', 'g') part
    where part[1] <> '0'
    union
    select oprcode from regexp_matches(tree, ':(?:opno|eqop|sortop) ([0-9]+)', 'g') part join pg_operator on oid = part[1]::oid);
  types := array(
    select distinct part[1]::oid from regexp_matches(tree, ':[a-z]*type ([0-9]+)', 'g') part where part[1]::oid >= 16384);
  -- A value of one type becomes another by its text: only if that text is always the same.
  casts := (select count(*) from regexp_matches(tree, '\{COERCEVIAIO ', 'g'));
  if casts > 0 then
    is_plain := is_plain and casts = (
      select count(*) from regexp_matches(tree, '\{COERCEVIAIO :arg \{(?:VAR :varno [0-9]+ :varattno [0-9]+ :vartype'
        || '|CONST :consttype|FUNCEXPR :funcid [0-9]+ :funcresulttype|OPEXPR :opno [0-9]+ :opfuncid [0-9]+ :opresulttype'
        || '|AGGREF :aggfnoid [0-9]+ :aggtype) ([0-9]+)', 'g') part
      join pg_type on pg_type.oid = part[1]::oid join pg_proc on pg_proc.oid = typoutput where provolatile = 'i')
    and not exists (
      select from regexp_matches(tree, ':resulttype ([0-9]+)', 'g') part
      join pg_type on pg_type.oid = part[1]::oid join pg_proc on pg_proc.oid = typinput where provolatile <> 'i');
  end if;
end
$$;

-- Whether functions give the same value each time: they say so, the functions of an aggregate too. An argument that names an
-- object of the database is read from it. `own`: those of tenants, in a language that can read the database.
create function cartage.function_parts(functions oid[], out own oid[], out is_plain boolean)
language sql stable strict set search_path = pg_catalog, pg_temp
begin atomic
  with called as (
    select unnest(functions) as oid
    union
    select part from pg_aggregate,
      unnest(array[aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn, aggmtransfn, aggminvtransfn, aggmfinalfn]::oid[]) part
    where aggfnoid = any (functions) and part <> 0
  ),
  known as (
    select called.oid, provolatile, proargtypes, pronamespace, pronargdefaults, lanname
    from called left join pg_proc on pg_proc.oid = called.oid left join pg_language on pg_language.oid = prolang
  )
  select
    array(select oid from known
      where lanname in ('sql', 'plpgsql') and oid >= 16384
        and pronamespace <> all (array(select oid from pg_namespace where nspname in ('postgis', 'cartodb', 'cartage')))),
    not exists (select from known
      where provolatile is distinct from 'i' or lanname not in ('internal', 'c', 'sql', 'plpgsql')
        -- The caller computes a default, which may be now().
        or pronargdefaults > 0 and oid >= 16384
          and pronamespace <> all (array(select oid from pg_namespace where nspname in ('postgis', 'cartodb', 'cartage')))
        or exists (
        select from pg_type where oid = any (proargtypes) and typname ~ '^_?reg'));
end;

create function cartage.new_places(places text[], relations oid[], reader oid) returns text[]
language sql immutable strict set search_path = pg_catalog, pg_temp
return array(select place from unnest(relations) relation, concat_ws(' ', relation, reader) place where place <> all (places));

-- What the rows of these relations and the values of these functions depend on; null if it cannot be told when they change.
-- `relations` are read with the rights of the role that asks.
create function cartage.layer_sources(relations oid[], functions oid[]) returns jsonb
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  places text[] := array(select distinct relation || ' 0' from unnest(relations) relation);
  calls oid[] := functions;
  enums oid[] := '{}';
  seen int := 0;
  called int := 0;
  relation oid;
  class record;
  routine record;
  part record;
begin
  loop
    if seen < cardinality(places) then
      seen := seen + 1;
      relation := split_part(places[seen], ' ', 1)::oid;
      select relkind, relowner, coalesce(exists (
        select from pg_options_to_table(reloptions) where option_name = 'security_invoker' and option_value::boolean), false) as is_invoker
      into class from pg_class where oid = relation;
      enums := enums || array(
        select oid from pg_type where oid in (
          select base from pg_attribute join pg_type own on own.oid = atttypid,
            cartodb._CDB_BaseType(case when typelem <> 0 then typelem else atttypid end, -1)
          where attrelid = relation and attnum > 0 and atttypid >= 16384) and typtype in ('e', 'c') and oid <> all (enums));
      continue when class.relkind in ('r', 'p', 'm');
      if class.relkind is distinct from 'v' or cardinality(places) > 200 or cardinality(calls) > 1000 then
        return null;
      end if;
      select part_of.* into part from pg_rewrite, cartage.tree_parts(ev_action::text) part_of
      where ev_class = relation and ev_type = '1';
      places := places || cartage.new_places(places, array_remove(part.relations, relation),
        case when class.is_invoker then 0 else class.relowner end);
    elsif called < cardinality(calls) then
      called := called + 1;
      continue when calls[called] < 16384;
      select prosrc, prosqlbody::text as body, prosecdef, proowner into routine from pg_proc
      where oid = any ((select own from cartage.function_parts(calls[called : called]))::oid[]) and oid = calls[called];
      continue when not found;
      if routine.body is null then
        -- What calls itself immutable and reads a table is not.
        if routine.prosrc ~* '\y(from|join|table|execute|perform|call|query)\y' then
          return null;
        end if;
        continue;
      end if;
      part := cartage.tree_parts(routine.body);
      places := places || cartage.new_places(places, part.relations, case when routine.prosecdef then routine.proowner else 0 end);
    else
      exit;
    end if;
    if part.is_plain is distinct from true then
      return null;
    end if;
    calls := calls || array(select new from unnest(part.functions) new where new <> all (calls));
    enums := enums || array(select oid from pg_type where oid = any (part.types) and typtype = 'e' and oid <> all (enums));
  end loop;
  if not (select is_plain from cartage.function_parts(calls)) or exists (select from pg_type where oid = any (enums) and typtype = 'c') then
    return null;
  end if;
  return jsonb_build_object('relations', places, 'functions', calls, 'enums', enums,
    'calls_own', cardinality((select own from cartage.function_parts(calls))) > 0);
end
$$;

-- A relation as a text that differs after each change to its rows, its definition or the rights to read it. Null if some
-- change is not recorded. REFRESH MATERIALIZED VIEW writes the row of pg_class.
create function cartage.relation_state(relation oid, reader oid, out state text, out is_moved boolean)
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  class record;
  attributes record;
  reads text;
  parts text := '';
  changes text := '';
begin
  select relkind, relfilenode, relhassubclass, pg_class.xmin as made, relpersistence = 'p' and not relrowsecurity and not relispartition
      as is_plain, pg_namespace.xmin as schema_made, has_schema_privilege(session_user, relnamespace, 'USAGE') as is_reachable
  into class from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = relation;
  if not found or not class.is_plain then
    return;
  end if;
  is_moved := class.relfilenode <> 0 and pg_relation_filenode(relation) is distinct from class.relfilenode;
  select string_agg(xmin::text, ',') as made, bool_or(attgenerated not in ('', 's')) as are_computed into attributes
  from (select xmin, attgenerated from pg_attribute where attrelid = relation and attnum > 0 order by attnum) attribute;
  reads := has_table_privilege(case reader when 0 then to_regrole(quote_ident(session_user))::oid else reader end, relation, 'SELECT');
  if reads = 'false' then
    reads := (
      select string_agg(has_column_privilege(case reader when 0 then to_regrole(quote_ident(session_user))::oid else reader end,
        relation, attnum, 'SELECT')::int::text, '' order by attnum)
      from pg_attribute where attrelid = relation and attnum > 0 and not attisdropped);
  end if;
  if class.relkind in ('r', 'p') then
    if class.relhassubclass then
      parts := cartage.partition_version(relation);
      is_moved := is_moved or cartage.is_partition_moved(relation);
    end if;
    changes := (select min(made::text) from cartage.change_triggers change where change.relation = relation_state.relation) || ' '
      || coalesce((
        select string_agg(concat_ws(' ', transaction, extract(epoch from updated_at)), ',' order by transaction)
        from cartage.table_changes change where change.relation = relation_state.relation), '');
  elsif class.relkind = 'v' then
    changes := (select xmin::text from pg_rewrite where ev_class = relation and ev_type = '1');
  elsif class.relkind <> 'm' then
    return;
  end if;
  if not attributes.are_computed then
    state := concat_ws('/', relation, class.made, class.schema_made, class.is_reachable, reads, attributes.made) || '/' || parts || '/'
      || changes;
  end if;
end
$$;

-- A partition was rewritten after the snapshot was taken.
create function cartage.is_partition_moved(relation oid) returns boolean
language sql stable strict set search_path = pg_catalog, pg_temp
begin atomic
  with recursive part (oid) as (
    select inhrelid from pg_inherits where inhparent = relation
    union all
    select inhrelid from part join pg_inherits on inhparent = part.oid
  )
  select exists (
    select from part join pg_class on pg_class.oid = part.oid
    where relfilenode <> 0 and pg_relation_filenode(part.oid) is distinct from relfilenode);
end;

-- A text that differs after every committed change to the sources, for the role that asks. Null if that cannot be told.
create function cartage.sources_state(sources jsonb, out state text, out is_moved boolean)
language plpgsql stable strict set search_path = pg_catalog, pg_temp as $$
declare
  functions constant oid[] := array(select jsonb_array_elements_text(sources -> 'functions')::oid);
  calls text;
  relations record;
begin
  select bool_and(found.state is not null) as are_told, bool_or(found.is_moved) as are_moved, string_agg(found.state, ';' order by at) as states
  into relations
  from jsonb_array_elements_text(sources -> 'relations') with ordinality source (place, at),
    cartage.relation_state(split_part(place, ' ', 1)::oid, split_part(place, ' ', 2)::oid) found;
  is_moved := relations.are_moved;
  if relations.are_told is false then
    return;
  end if;
  select coalesce(string_agg(concat_ws(' ', oid, xmin, has_function_privilege(session_user, oid, 'EXECUTE')), ',' order by oid), '')
  into calls from pg_proc where oid = any (functions);
  -- A function of a tenant may call others by their names.
  if (sources ->> 'calls_own')::boolean then
    calls := calls || '/' || (
      select count(*) || ' ' || sum(hashtextextended(concat_ws(' ', oid, xmin), 0)) from pg_proc where oid >= 16384);
  end if;
  state := md5(concat_ws('|', relations.states, calls, (
    select string_agg(concat_ws(' ', oid, enumlabel), ',' order by oid) from pg_enum
    where enumtypid in (select jsonb_array_elements_text(sources -> 'enums')::oid))));
end
$$;

-- The sources of these relations and functions, and their state. The sources of the `known` version are tried first.
create function cartage.layer_version(relations oid[], functions oid[], known text, out version text, out is_moved boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  asked constant jsonb := jsonb_build_array(relations, functions);
  sources jsonb;
  now_is record;
begin
  if starts_with(known, '{') and strpos(known, E'\n') > 0 then
    sources := split_part(known, E'\n', 1)::jsonb;
    if sources -> 'asked' = asked then
      now_is := cartage.sources_state(sources);
      if sources::text || E'\n' || now_is.state = known then
        version := known;
        is_moved := now_is.is_moved;
        return;
      end if;
    end if;
  end if;
  sources := cartage.layer_sources(relations, functions) || jsonb_build_object('asked', asked);
  if sources is not null then
    now_is := cartage.sources_state(sources);
    version := sources::text || E'\n' || now_is.state;
    is_moved := now_is.is_moved;
  end if;
end
$$;

-- The version of what these relations and functions show to the calling role. Of a function every one of that name counts, in
-- whatever schema. Null also if a tenant has an operator of one of these names, a function that can be read like a member
-- of a row, or a cast by a function, and if a type is called like a function: its input may read 'now'.
create function cartodb._CDB_LayerVersion(
  relations oid[], functions text[], operators text[], members text[], known text, out version text, out is_moved boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  if array_position(relations, null) is null
    and not exists (
      select from pg_type where typname = any (functions)
        and typname <> all ('{bool,int2,int4,int8,float4,float8,numeric,text,varchar,bpchar,uuid,geometry,box2d,box3d}'))
    and not exists (
      select from pg_cast join pg_proc on pg_proc.oid = castfunc
      where pg_cast.oid >= 16384
        and pronamespace <> all (array(select oid from pg_namespace where nspname in ('pg_catalog', 'postgis'))))
    and not exists (
      select from pg_operator where oprname = any (operators)
        and oprnamespace <> all (array(select oid from pg_namespace where nspname in ('pg_catalog', 'postgis'))))
    and not exists (
      select from pg_proc join pg_type on pg_type.oid = proargtypes[0]
      where proname = any (members) and pronargs = 1 and typtype in ('c', 'p')
        and pronamespace <> all (array(select oid from pg_namespace where nspname in ('pg_catalog', 'postgis'))))
  then
    select found.version, found.is_moved into version, is_moved
    from cartage.layer_version(array(select distinct relation from unnest(relations) relation order by relation),
      array(select oid from pg_proc where proname = any (functions) order by oid), known) found;
  end if;
end
$$;

-- The same for the names that stand in a query: `relations`, and `optional` ones, which may be a WITH of the query. A name means
-- what it means to the caller, so this function keeps the search_path of the caller.
create function cartodb._CDB_QueryVersion(
  relations text[], optional text[], functions text[], operators text[], members text[], known text,
  out version text, out is_moved boolean)
language sql stable
as $$
  select found.version, found.is_moved from cartodb._CDB_LayerVersion(
    array(select pg_catalog.to_regclass(name)::pg_catalog.oid from pg_catalog.unnest(relations) name)
      operator(pg_catalog.||) array(
        select pg_catalog.to_regclass(name)::pg_catalog.oid from pg_catalog.unnest(optional) name
        where pg_catalog.to_regclass(name) is not null),
    functions, operators, members, known) found
$$;

-- A relation as a layer of tiles; null if there is none that the calling role may read.
--
-- `version` differs after every committed change to the rows or the definition of a table or view. It is null if that cannot be
-- told: of a foreign table, a table under row security, one without the trigger for changes, a view over such a table. The
-- transaction that changes a table also writes table_changes, so a snapshot sees both or neither. Under the `known` version
-- nothing else is answered, as nothing else has changed.
--
-- `is_moved`: the rows were rewritten after the snapshot was taken, which therefore sees none (TRUNCATE is not MVCC-safe).
create or replace function cartodb._CDB_TileLayer(schema_name text, relation_name text, known text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  class record;
  attributes record;
  parts text := '';
  version text;
  is_moved boolean;
  under record;
  columns jsonb;
begin
  select pg_class.oid, relkind, reltuples, relfilenode, relhassubclass, pg_class.xmin as made,
    relkind in ('r', 'p') and not relrowsecurity and not relispartition and relpersistence = 'p' as is_plain,
    has_table_privilege(session_user, pg_class.oid, 'SELECT') as reads_all
  into class
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where nspname = schema_name::name and relname = relation_name::name and relkind in ('r', 'p', 'v', 'm', 'f')
    and has_schema_privilege(session_user, relnamespace, 'USAGE');
  if not found then
    return null;
  end if;
  is_moved := class.relfilenode <> 0 and pg_relation_filenode(class.oid) is distinct from class.relfilenode;
  if class.is_plain or class.relkind in ('v', 'm') then
    -- A virtual generated column is computed when it is read. A type of the tenant may change by itself.
    select string_agg(xmin::text, ',') as made, bool_or(attgenerated not in ('', 's')) as are_computed,
      bool_or(atttypid >= 16384 and atttypid <> 'postgis.geometry'::regtype) as have_own_types
    into attributes
    from (
      select xmin, attgenerated, atttypid from pg_attribute where attrelid = class.oid and attnum > 0 order by attnum
    ) attribute;
    if class.relhassubclass then
      parts := cartage.partition_version(class.oid);
      is_moved := is_moved or cartage.is_partition_moved(class.oid);
    end if;
    if class.relkind in ('v', 'm') then
      under := cartage.layer_version(array[class.oid], '{}', known);
      version := under.version;
      is_moved := is_moved or coalesce(under.is_moved, false);
    elsif not attributes.are_computed then
      version := class.oid || '/' || class.made || '/' || class.reads_all || '/' || parts || '/'
        || (select min(made::text) from cartage.change_triggers where relation = class.oid) || '/' || attributes.made || '/'
        || coalesce((
          select string_agg(concat_ws(' ', transaction, extract(epoch from updated_at)), ',' order by transaction)
          from cartage.table_changes where relation = class.oid), '');
    end if;
    if version = known and class.reads_all and not attributes.have_own_types then
      return jsonb_build_object('is_known', true, 'is_moved', is_moved);
    end if;
  end if;
  columns := cartodb._CDB_TileColumns(class.oid);
  if columns is null then
    return null;
  end if;
  return jsonb_build_object('schema', schema_name, 'name', relation_name, 'kind', class.relkind, 'rows', class.reltuples,
    'columns', columns, 'version', version, 'comment', obj_description(class.oid, 'pg_class'), 'is_moved', is_moved);
end
$$;
