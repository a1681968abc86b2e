-- Whose turn it is to be checked at commit is for the moment of the commit. SET CONSTRAINTS lets a transaction take its turn
-- and go on for as long as it likes: whoever keeps others waiting is ended. So the turn of an account is a lock on a table,
-- of which PostgreSQL tells who holds it, whatever savepoints there were.
drop table cartage.commit_turns;
create table cartage.commit_turns (
  username text primary key references cartage.accounts on delete cascade,
  -- An empty table. No tenant can reach it.
  turn     regclass not null
);

create function cartage.make_commit_turn() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  turn constant text := format('cartage.%I', 'turn_of_' || md5(new.username));
begin
  execute format('create table %s ()', turn);
  insert into cartage.commit_turns values (new.username, turn::regclass);
  return null;
end
$$;

create function cartage.drop_commit_turn() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('drop table %s', old.turn);
  return null;
end
$$;

create trigger make_commit_turn after insert on cartage.accounts
  for each row execute function cartage.make_commit_turn();
create trigger drop_commit_turn after delete on cartage.commit_turns
  for each row execute function cartage.drop_commit_turn();

do $$
declare
  account record;
begin
  for account in select username, format('cartage.%I', 'turn_of_' || md5(username)) as turn from cartage.accounts loop
    execute format('create table %s ()', account.turn);
    insert into cartage.commit_turns values (account.username, account.turn::regclass);
  end loop;
end
$$;

-- Waits for the turn; false after a while.
create function cartage.has_commit_turn(turn regclass) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
begin
  execute format('lock table %s in exclusive mode', turn);
  return true;
exception when lock_not_available then
  return false;
end
$$;

-- Ends whoever has the turn, and answers its pid.
create function cartage.end_commit_turn(turn regclass) returns integer
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select max(case when pg_terminate_backend(pid) then pid end)
  from pg_locks
  where locktype = 'relation' and relation = turn and granted and mode = 'ExclusiveLock'
    and database = (select oid from pg_database where datname = current_database())
$$;

create or replace function cartage.check_quota_at_commit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  turn constant regclass := (select mine.turn from cartage.commit_turns mine where username = new.username);
  holder integer;
  last_holder integer;
begin
  delete from cartage.commit_checks where transaction = new.transaction and username = new.username;
  while not cartage.has_commit_turn(turn) loop
    last_holder := holder;
    holder := cartage.end_commit_turn(turn);
    -- It was told to end and does not hear it. When it does, it will not commit: what it made need not be counted.
    exit when holder = last_holder;
  end loop;
  perform cartage.quota_left(new.username);
  return null;
end
$$;
