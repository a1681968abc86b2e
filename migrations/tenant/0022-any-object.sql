-- What a transaction drops, it locks. So what goes with a member goes in steps, whatever kinds of objects there are and in
-- whatever way they depend on each other. PostgreSQL drops each object by its catalog and number: a step makes the objects
-- that it has chosen depend on a domain, and drops the domain. (No kind of object needs a command of its own.)

drop function cartage.next_drops(oid[]);
drop function cartage.drops_of_relations(oid[]);
drop function cartage.stand_on(oid);
drop function cartage.owned_by(oid[]);

-- An object, or with a part other than 0 a column of one.
create type cartage.address as (catalog oid, object oid, part integer);

-- What the roles own in this database. (Without settings of its own, so that it becomes part of the query that uses it.)
create function cartage.owned_by(owners oid[]) returns setof cartage.address
language sql stable begin atomic
  select classid, objid, objsubid
  from pg_shdepend
  where refclassid = 'pg_authid'::regclass and refobjid = any (owners) and deptype = 'o'
    and dbid = (select oid from pg_database where datname = current_database());
end;

-- What PostgreSQL drops with these objects, themselves included, nearest first: all that depends on them, and the whole of
-- which one of these is an inner part. At most `most` rows. (In PL/pgSQL, which keeps plans.)
create function cartage.falls_with(start cartage.address[], most integer) returns setof cartage.address
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off set jit = off as $$
begin
  return query
    with recursive falling (catalog, object, part) as (
      select * from unnest(start)
      union
      select next.*
      from falling
      cross join lateral (
        select classid, objid, objsubid from pg_depend
        where refclassid = falling.catalog and refobjid = falling.object and falling.part in (0, refobjsubid)
        union all
        select refclassid, refobjid, refobjsubid from pg_depend
        where classid = falling.catalog and objid = falling.object and falling.part in (0, objsubid)
          and deptype in ('i', 'e')
      ) next
    )
    select * from falling limit most;
end
$$;

-- Whether an object can be dropped by itself: it is no inner part of another, and no index or trigger of a partition.
create function cartage.stands_alone(this cartage.address) returns boolean
language sql stable
return not exists (
  select from pg_depend
  where classid = this.catalog and objid = this.object and objsubid = this.part and deptype in ('i', 'e', 'P', 'S'));

-- Whether nothing depends on an object, not even a part of its own.
create function cartage.is_bare(this cartage.address) returns boolean
language sql stable
return not exists (select from pg_depend where refclassid = this.catalog and refobjid = this.object);

-- What views and functions depend on once they are loose. It belongs to one of the leaving roles, and goes last.
create function cartage.leaving_domain(owners oid[]) returns oid
language sql stable set search_path = pg_catalog, pg_temp
return to_regtype(format('cartage.leaving_%s', owners[1]));

create function cartage.make_leaving_domain(owners oid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cartage.leaving_domain(owners) is null then
    execute format('create domain cartage.leaving_%s as integer', owners[1]);
    execute format('alter domain cartage.leaving_%s owner to %I', owners[1], pg_get_userbyid(owners[1]));
  end if;
end
$$;

-- Lets views and functions depend on the domain, not on those of `going` that their query or body names. Only such
-- dependencies can be a circle, as only these can be replaced; and a view or function can be dropped when what it names has
-- gone. (The types of a function's arguments have to stay.) And takes apart what would only go as a whole, however much it
-- is: a foreign key to a table with partitions, and an extension to which the leaving roles added objects.
create function cartage.loosen(owners oid[], going cartage.address[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  loose constant tid[] := array(
    select ctid from pg_depend
    where (refclassid, refobjid) in (select catalog, object from unnest(going)) and deptype = 'n'
      and refobjid is distinct from cartage.leaving_domain(owners)
      and (classid = 'pg_rewrite'::regclass and exists (
          select from pg_rewrite where pg_rewrite.oid = objid and rulename = '_RETURN' and ev_class <> refobjid)
        or classid = 'pg_proc'::regclass and refclassid <> 'pg_namespace'::regclass and not exists (
          select from pg_proc where pg_proc.oid = objid and refclassid = 'pg_type'::regclass
            and (refobjid = prorettype or refobjid = any (proargtypes) or refobjid = any (proallargtypes)))));
begin
  if cardinality(loose) > 0 then
    perform cartage.make_leaving_domain(owners);
    update pg_depend set refclassid = 'pg_type'::regclass, refobjid = cartage.leaving_domain(owners), refobjsubid = 0
    where ctid = any (loose);
  end if;
  delete from pg_depend
  where (refclassid, refobjid) in (select catalog, object from unnest(going))
    and (classid = 'pg_constraint'::regclass and refclassid = 'pg_constraint'::regclass and deptype = 'i'
      or deptype = 'e' and (classid, objid) in (select catalog, object from cartage.owned_by(owners)));
end
$$;

-- Some of what goes with the roles: together not more than a step may lock.
create function cartage.next_to_go(owners oid[]) returns setof cartage.address
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  most constant integer := cartage.step_objects();
  room integer := most;
  candidates cartage.address[];
  candidate cartage.address;
  falling cartage.address[];
  too_many cartage.address[];
  heavy integer;
begin
  return query
    select * from cartage.owned_by(owners) owned
    where cartage.is_bare(owned) and cartage.stands_alone(owned) limit most;
  if found then
    return;
  end if;
  candidates := array(
    select owned from cartage.owned_by(owners) owned where cartage.stands_alone(owned) limit most);
  for turn in 1 .. 1000 loop
    heavy := 0;
    foreach candidate in array candidates loop
      falling := array(select falls from cartage.falls_with(array[candidate], most + 1) falls);
      if cardinality(falling) <= room then
        room := room - cardinality(falling);
        return next candidate;
      elsif cardinality(falling) <= most then
        exit;
      else
        heavy := heavy + 1;
        if heavy = 1 then
          too_many := falling;
        end if;
        exit when heavy = 5;
      end if;
    end loop;
    exit when room < most or heavy = 0;
    -- What is farthest from the heavy one can go first.
    perform cartage.loosen(owners, too_many);
    candidates := array(
      select (catalog, object, part)::cartage.address
      from unnest(too_many) with ordinality as falls (catalog, object, part, number)
      where cartage.stands_alone((catalog, object, part)::cartage.address) order by number desc);
  end loop;
end
$$;

-- Takes the roles out of some policies, or drops some of what they own, if it is too much for one transaction; false when
-- it is not, or no more.
create or replace function cartage.drop_some(leaving text[]) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set client_min_messages = 'warning' as $$
declare
  owners constant oid[] := array(select oid from pg_authid where rolname = any (leaving) order by oid);
  commands constant text[] := array(select cartage.policies_without(owners));
  most constant integer := cartage.step_objects();
  command text;
  chosen bigint;
begin
  if cardinality(commands) >= most then
    foreach command in array commands loop
      execute command;
    end loop;
    return true;
  end if;
  -- Nothing hangs together with large objects, and there may be very many.
  if (select count(lo_unlink(oid)) = most
      from (select oid from pg_largeobject_metadata where lomowner = any (owners) limit most) large) then
    return true;
  end if;
  if (select count(*) <= most
      from cartage.falls_with(array(select owned from cartage.owned_by(owners) owned limit most + 1), most + 1)) then
    return false;
  end if;
  create domain cartage.going as integer;
  -- Looked up anew in each step: a constant would stay in the plan.
  insert into pg_depend
  select catalog, object, part, 'pg_type'::regclass, to_regtype('cartage.going'), 0, 'n' from cartage.next_to_go(owners);
  get diagnostics chosen = row_count;
  drop domain cartage.going cascade;
  return chosen > 0;
end
$$;

-- Hands over some of what a key leaves to the user; false when that was all. Sequences count, too.
create or replace function cartage.hand_over_some(leaving text, heir text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  owner constant oid := to_regrole(quote_ident(leaving));
  relations oid[];
begin
  if cartage.judge_unwatched(leaving) > 0 then
    return true;
  end if;
  relations := cartage.next_relations(owner);
  if exists (
    select from pg_class
    where relowner = owner and oid <> all (relations) and (relkind in ('r', 'p', 'v', 'm', 'f') or relkind = 'S'
      and cartage.stands_alone(('pg_class'::regclass, oid, 0)::cartage.address) and not exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'a')))
  then
    perform cartage.hand_over_relations(owner, heir, relations);
    return true;
  end if;
  perform cartage.hand_over(leaving, heir);
  return false;
end
$$;
