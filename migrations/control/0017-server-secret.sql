-- Which server secret this installation lives by, so that a process with another one is turned away at its start.
create table cartage.server_secret (
  id         integer primary key default 1 check (id = 1),
  -- Follows from the secret and leads nowhere back.
  verifier   bytea not null,
  rotated_at timestamptz
);

-- A rotation is over when the roles of every host have the passwords that follow from the new secret.
alter table cartage.hosts add column has_old_passwords boolean not null default false;
