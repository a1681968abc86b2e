-- What clients ask about tables: when they changed, which there are, their columns, and which tables a query reads.

-- When a table changed

-- The latest row of a table counts. Writers only add a row and remove rows that no other transaction has locked, so two
-- transactions that write to one table do not wait for each other.
create table cartage.table_changes (
  relation    oid not null,
  updated_at  timestamptz not null,
  transaction xid8 not null
);

create index on cartage.table_changes (relation);

create function cartage.record_change(changed oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from cartage.table_changes where relation = changed and transaction = pg_current_xact_id()) then
    return;
  end if;
  -- Under REPEATABLE READ a row that another transaction removed would be a serialization failure.
  if current_setting('transaction_isolation') = 'read committed' then
    delete from cartage.table_changes
    where ctid = any (array(
      select ctid from cartage.table_changes where relation = changed for update skip locked));
    if not found then
      -- The first change of this table: a moment to remove the rows of dropped tables.
      delete from cartage.table_changes
      where ctid = any (array(
        select ctid from cartage.table_changes change
        where not exists (select from pg_class where oid = change.relation) for update skip locked));
    end if;
  end if;
  insert into cartage.table_changes values (changed, clock_timestamp(), pg_current_xact_id());
end
$$;

-- A change gets the time of its commit, when others see it. Otherwise a transaction that began early and ends late would seem
-- older than one that ended before it.
create function cartage.stamp_change() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update cartage.table_changes set updated_at = clock_timestamp()
  where relation = new.relation and transaction = new.transaction;
  return null;
end
$$;

create constraint trigger stamp_change after insert on cartage.table_changes
  deferrable initially deferred for each row execute function cartage.stamp_change();

create view cartodb.CDB_TableMetadata with (security_barrier) as
select change.relation::regclass as tabname, max(change.updated_at) as updated_at
from cartage.table_changes change
join pg_catalog.pg_class class on class.oid = change.relation
where pg_catalog.has_any_column_privilege(class.oid, 'SELECT')
group by change.relation;

create view cartodb.CDB_TableMetadata_Text with (security_barrier) as
select pg_catalog.format('%I.%I', namespace.nspname, class.relname) as tabname, metadata.updated_at
from cartodb.CDB_TableMetadata metadata
join pg_catalog.pg_class class on class.oid = metadata.tabname
join pg_catalog.pg_namespace namespace on namespace.oid = class.relnamespace;
grant select on cartodb.CDB_TableMetadata, cartodb.CDB_TableMetadata_Text to public;

create function cartodb._CDB_Touch(tablename regclass) returns void
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

-- A change to a partition is a change to its table.
create function cartodb.CDB_TableMetadata_Trigger() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform cartage.record_change(coalesce(pg_partition_root(tg_relid), tg_relid));
  return null;
end
$$;

-- Tables and columns

-- Whether a role may read anything of a table: all of it, some columns, or a partition by itself. (pg_partition_tree would
-- wait for a locked partition.)
create function cartodb._CDB_IsReadable(relation oid, role name) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
begin atomic
  with recursive part (oid) as (
    select relation
    union all
    select inhrelid from part join pg_inherits on inhparent = part.oid join pg_class on pg_class.oid = inhrelid
    where relispartition
  )
  select exists (select from part where has_any_column_privilege(role, part.oid, 'SELECT'));
end;

-- The tables in the caller's own schema that the caller may read: 'public' (also readable without a key), 'private' or
-- 'all'.
create function cartodb.CDB_UserTables(perm text default 'all') returns setof information_schema.sql_identifier
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select mine.relname::information_schema.sql_identifier
  from cartage.account_relations mine
  join cartage.accounts account on account.username = mine.username
  where account.username = cartodb.CDB_Username()
    and mine.relnamespace = to_regnamespace(quote_ident(account.schema_name))
    and mine.relkind in ('r', 'p') and not mine.relispartition
    and has_table_privilege(session_user, mine.relation, 'SELECT')
    and case perm
      when 'all' then true
      when 'public' then cartodb._CDB_IsReadable(mine.relation, account.public_role)
      when 'private' then not cartodb._CDB_IsReadable(mine.relation, account.public_role)
    end
  order by mine.relname;
end;

create function cartodb.CDB_ColumnNames(regclass) returns setof information_schema.sql_identifier
language sql stable parallel safe set search_path = pg_catalog, pg_temp
begin atomic
  select attname::information_schema.sql_identifier
  from pg_catalog.pg_attribute
  where attrelid = $1 and attnum > 0 and not attisdropped
  order by attnum;
end;

-- A type of PostGIS is named without its schema.
create function cartodb.CDB_ColumnType(regclass, text) returns information_schema.character_data
language sql stable parallel safe set search_path = pg_catalog, pg_temp
return (
  select regexp_replace(format_type(atttypid, null), '^postgis\.', '')::information_schema.character_data
  from pg_catalog.pg_attribute
  where attrelid = $1 and attname = $2 and attnum > 0 and not attisdropped
);

-- Which tables a query reads. Backslashes stand in E'' only: these functions are compiled under the caller's
-- standard_conforming_strings.

-- Where the lexeme ends that begins at `first`. A string, quoted identifier, dollar quote or comment runs over many tokens,
-- anything else is one token. What is never closed runs to the end.
create function cartodb._CDB_LexemeEnd(tokens text[], first int) returns int
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  before constant text := coalesce(tokens[first - 1], ' ');
  opening constant text := tokens[first];
  second constant text := coalesce(tokens[first + 1], '');
  word constant text := E'^[[:alpha:]_\\u0080-\\U0010ffff]';
  escapes boolean;
  depth int := 1;
  i int := first + 1;
begin
  if opening = '''' then
    escapes := lower(before) = 'e' or current_setting('standard_conforming_strings') = 'off';
    while i <= cardinality(tokens) loop
      if tokens[i] = E'\\' and escapes or tokens[i] = '''' and tokens[i + 1] = '''' then
        i := i + 2;
      elsif tokens[i] = '''' and tokens[i + 1] ~ E'^[[:space:]]*\n[[:space:]]*$' and tokens[i + 2] = '''' then
        -- A string continues after a line break, with the rules that it began with.
        i := i + 3;
      elsif tokens[i] = '''' then
        return i;
      else
        i := i + 1;
      end if;
    end loop;
  elsif opening = '"' then
    i := array_position(tokens, '"', i);
  elsif opening = '-' and second = '-' then
    while tokens[i] !~ E'[\n\r]' loop
      i := i + 1;
    end loop;
  elsif opening = '/' and second = '*' then
    while depth > 0 and i < cardinality(tokens) loop
      i := i + 1;
      if tokens[i] = '*' and tokens[i + 1] = '/' then
        depth := depth - 1;
        i := i + 1;
      elsif tokens[i] = '/' and tokens[i + 1] = '*' then
        depth := depth + 1;
        i := i + 1;
      end if;
    end loop;
  elsif opening = '$' and before !~ word and second = '$' then
    i := i + 1;
    while i <= cardinality(tokens) and not (tokens[i] = '$' and tokens[i + 1] = '$') loop
      i := i + 1;
    end loop;
    i := i + 1;
  elsif opening = '$' and before !~ word and second ~ word and tokens[first + 2] = '$' then
    i := i + 2;
    while i <= cardinality(tokens) and not (tokens[i] = '$' and tokens[i + 1] = second and tokens[i + 2] = '$') loop
      i := i + 1;
    end loop;
    i := i + 2;
  else
    return first;
  end if;
  return least(i, cardinality(tokens));
end
$$;

-- Splits a text into its statements as psql does: a semicolon inside a string, identifier, dollar quote, comment, parenthesis
-- or BEGIN ATOMIC body separates nothing. White space around statements is cut off. Comments alone are no statement.
create function cartodb.CDB_QueryStatements(query text) returns setof text
language plpgsql stable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  tokens text[];           -- the text cut into words, numbers, white space and single characters
  ends int[];              -- where each of them ends, in bytes: the nth byte is found at once, the nth character is not
  bytes constant bytea := convert_to(query, getdatabaseencoding());
  statement text;
  statement_start int := 1;
  words text := '';        -- the first words of the statement
  has_content boolean := false;
  parentheses int := 0;
  bodies int := 0;         -- BEGIN ATOMIC and the CASEs in it, closed by END
  token text;
  first int := 1;
  last int;
begin
  select array_agg(match[1] order by place), array_agg(ending order by place) into tokens, ends
  from (
    select match, place, sum(octet_length(match[1])) over (order by place) as ending
    from regexp_matches(query,
      E'[[:alpha:]_\\u0080-\\U0010ffff][[:alnum:]_\\u0080-\\U0010ffff]*|[0-9]+|[[:space:]]+|.', 'g')
      with ordinality found (match, place)
  ) cut;

  while first <= cardinality(tokens) loop
    token := lower(tokens[first]);
    last := case when token in ('''', '"', '$', '-', '/') then cartodb._CDB_LexemeEnd(tokens, first) else first end;
    if token = ';' and parentheses = 0 and bodies = 0 then
      if has_content then
        statement := convert_from(substr(bytes, statement_start, ends[first] - statement_start), getdatabaseencoding());
        return next btrim(statement, E' \t\n\r\f\x0b');
      end if;
      statement_start := ends[first] + 1;
      words := '';
      has_content := false;
    elsif token ~ '[^[:space:]]' and not (token in ('-', '/') and last > first) then
      has_content := true;
      parentheses := greatest(parentheses + (token = '(')::int - (token = ')')::int, 0);
      if token ~ '^[[:alpha:]]' and length(words) < 40 then
        words := words || token || ' ';
      end if;
      if words ~ '^create (or replace )?(function|procedure) ' and parentheses = 0 then
        bodies := greatest(0, bodies - (token = 'end')::int
          + (token = 'begin' and lower(tokens[first + 2]) = 'atomic' or token = 'case' and bodies > 0)::int);
      end if;
    end if;
    first := last + 1;
  end loop;

  if has_content then
    statement := convert_from(substr(bytes, statement_start), getdatabaseencoding());
    return next btrim(statement, E' \t\n\r\f\x0b');
  end if;
end
$$;

create function cartodb._CDB_PlanTables(plan json) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
return array(
  select format('%I.%I', node ->> 'Schema', node ->> 'Relation Name')
  from jsonb_path_query(plan::jsonb, 'strict $.** ? (@.type() == "object")') node
  where node ? 'Relation Name'
);

create function cartodb._CDB_SortedUnion(one text[], other text[]) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
return array(select distinct name from unnest(one || other) name order by name);

-- The tables that the statements of `query` touch, as PostgreSQL's planner sees them: a view counts as what it reads, and a
-- statement without a plan (DDL) as nothing. Nothing is executed: a cursor takes no more than one statement, so even a text
-- that was split wrongly would be refused. Names in `query` mean what they mean to the caller, so this function keeps the
-- search_path of the caller and names the schema of everything else.
create function cartodb.CDB_QueryTablesText(query text) returns text[]
language plpgsql strict as $$
declare
  statement pg_catalog.text;
  plan pg_catalog.json;
  tables pg_catalog.text[] := '{}';
begin
  for statement in select part from cartodb.CDB_QueryStatements(query) part loop
    begin
      for plan in execute pg_catalog.concat('explain (verbose, format json) ', statement) loop
        tables := cartodb._CDB_SortedUnion(tables, cartodb._CDB_PlanTables(plan));
      end loop;
    exception when syntax_error then
      null;
    end;
  end loop;
  return tables;
end
$$;

-- The same cut to the length of a name, for clients that know this form only.
create function cartodb.CDB_QueryTables(query text) returns name[]
language plpgsql strict as $$
begin
  return cartodb.CDB_QueryTablesText(query)::pg_catalog.name[];
end
$$;
