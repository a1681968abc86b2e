-- What a text of SQL consists of, and which tables it reads.
-- Backslashes stand in E'' only: these functions are compiled under the caller's standard_conforming_strings.

-- Where the lexeme ends that begins at `first`: a string, quoted identifier, dollar quote or comment
-- runs over many tokens, anything else is one. One that is never closed runs to the end.
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
        -- A string goes on after a line break, by the rules it began with.
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

-- Splits a text into its statements as psql would: a semicolon inside a string, identifier, dollar
-- quote, comment, parenthesis or BEGIN ATOMIC body separates nothing. White space around statements
-- is cut off, and what holds nothing but comments is no statement.
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

-- The tables that the statements of `query` touch, as PostgreSQL's planner sees them: views count as
-- what they read, and a statement that has no plan (DDL) as nothing. Nothing is executed: a cursor
-- takes no more than one statement, so even a text cut wrongly would be refused.
-- Names in `query` mean what they mean to the caller, so this function keeps the caller's search_path
-- and gives everything of its own a schema.
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
