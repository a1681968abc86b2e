-- Which server secret this installation lives by, so that a process with another one is turned away at its start.
create table cartage.server_secret (
  id         integer primary key default 1 check (id = 1),
  -- Follows from the secret and leads nowhere back.
  verifier   bytea not null,
  rotated_at timestamptz
);
