-- Keys that expire, have a description, and tell when they were used last.

alter table cartage.api_keys add column description text not null default '',
  -- From then on the token is as good as unknown. Null: never.
  add column expires_at timestamptz;

-- Beside the keys, so that noting a use waits for no change of a key, and changes no row that every request reads. No foreign key:
-- it would make uses and deletions of keys wait for each other. Uses of deleted keys are removed every hour.
create table cartage.key_uses (
  key_id       integer primary key,
  last_used_at timestamptz not null
) with (fillfactor = 50);
