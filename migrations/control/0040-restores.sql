-- Users that the service restores from backups: one row each, with how far it is. The process that carries one out holds
-- an advisory lock on its id, so a row that has not ended and whose lock is free was left by a dead process.
create table cartage.restores (
  id          integer generated always as identity primary key,
  -- Its name in the folder of backups.
  file        text not null,
  -- When the backup was made.
  backup_of   timestamptz not null,
  -- In the backup.
  username    text not null,
  restored_as text not null,
  phase       text not null default 'unpacking'
              check (phase in ('unpacking', 'copying', 'opening', 'undoing', 'done', 'failed')),
  progress    integer not null default 0,
  error       text,
  -- The names of the keys that have new tokens.
  keys        text[] not null default '{}',
  created_at  timestamptz not null default clock_timestamp(),
  ended_at    timestamptz
);
create index restores_unfinished on cartage.restores (id) where ended_at is null;
