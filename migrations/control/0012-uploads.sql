-- Resumable uploads (tus 1.0): files that come in several requests, and become an import or the rows of a copyfrom.
create table cartage.uploads (
  id           uuid primary key,
  user_id      integer not null references cartage.users on delete cascade,
  key_id       integer not null references cartage.api_keys on delete cascade,
  -- The directory for files of imports that has its file.
  spool        uuid not null,
  length       bigint not null check (length > 0),
  -- Bytes on the disk. The last byte counts only when the upload is done: a client that asks how much is there must not take an
  -- upload for finished whose import was not made.
  received     bigint not null default 0,
  -- As the client sent it.
  metadata     text not null,
  -- open -> done (import), open -> loading -> done (copyfrom). A load that failed is open again. One that stays loading lost its
  -- process, and is not repeated.
  state        text not null default 'open' check (state in ('open', 'loading', 'done')),
  -- Of a copyfrom.
  answer       json,
  -- One request writes at a time, in any process. It renews its lock every second; another request that wants it says so.
  lock         uuid,
  locked_until timestamptz,
  is_wanted    boolean not null default false,
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz not null,
  constraint uploads_are_sound check (
    received between 0 and length and (received = length) = (state = 'done') and (lock is null) = (locked_until is null)
  )
) with (fillfactor = 70);

create index on cartage.uploads (user_id);
create index on cartage.uploads (key_id);
create index on cartage.uploads (expires_at);
