-- Members to come of large organizations: ids of users whose roles are made ahead (src/accounts/spare-store.ts).
create table cartage.spare_members (
  user_id         integer primary key,
  organization_id integer not null references cartage.organizations on delete cascade,
  master_role     text not null unique,
  public_role     text not null unique,
  -- The member whose creation makes the roles. Null: that is over, whether or not it succeeded.
  made_with       integer references cartage.users on delete set null
);
create index spare_members_of_organization on cartage.spare_members (organization_id);
create index spare_members_by_maker on cartage.spare_members (made_with);
