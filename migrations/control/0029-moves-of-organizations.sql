-- Organizations that move: all members at once, as they share one database.

-- While it moves it has no new members.
alter table cartage.organizations add column is_moving boolean not null default false;

-- Of a user that moves: it was suspended before, and is again when it has arrived.
alter table cartage.users add column stays_suspended boolean not null default false;

alter table cartage.moves alter column user_id drop not null,
  add column organization_id integer references cartage.organizations on delete cascade,
  add constraint moves_of_one_account check (num_nonnulls(user_id, organization_id) = 1);
create unique index one_move_per_organization on cartage.moves (organization_id) where ended_at is null;
create index moves_by_organization on cartage.moves (organization_id);
