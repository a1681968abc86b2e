-- Users that move to another host, and hosts that take no new users.

-- False: no user is made there, and none moves there.
alter table cartage.hosts add column accepts_users boolean not null default true;

-- While a user moves it is suspended too, so that everything that stops a suspended user stops this one.
alter table cartage.users add column is_moving boolean not null default false,
  add constraint users_that_move_are_suspended check (not is_moving or suspended_at is not null);

-- A move. Before `cleaning` the user is on the host that it leaves, whole; what is on the other host is a copy that can be dropped.
-- From `cleaning` on it is the other way round. Ids of hosts without references: a finished move outlives its hosts.
create table cartage.moves (
  id           integer generated always as identity primary key,
  user_id      integer not null references cartage.users on delete cascade,
  from_host_id integer not null,
  from_host    text not null,
  to_host_id   integer not null,
  to_host      text not null,
  phase        text not null default 'waiting' check (
    phase in ('waiting', 'stopping', 'copying', 'checking', 'undoing', 'cleaning', 'done', 'failed')),
  -- In percent.
  progress     integer not null default 0 check (progress between 0 and 100),
  error        text,
  created_at   timestamptz not null default now(),
  -- Since when the user is not served, and when it was served again.
  stopped_at   timestamptz,
  served_at    timestamptz,
  ended_at     timestamptz
);
create unique index one_move_per_user on cartage.moves (user_id) where ended_at is null;
create index moves_by_user on cartage.moves (user_id);
