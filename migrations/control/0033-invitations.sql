-- A link that gives its receiver a key. The secret in it is random, so a plain hash hides it.
alter table cartage.api_keys
  add column invitation_hash bytea,
  add column invited_until timestamptz,
  add check ((invitation_hash is null) = (invited_until is null));
create unique index api_keys_by_invitation on cartage.api_keys (invitation_hash) where invitation_hash is not null;
