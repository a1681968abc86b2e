-- How far ahead of its rate each user is, in each group of endpoints. Unlogged: these rows change with every
-- limited request, and after a crash every limit may well begin afresh.
create unlogged table cartage.rate_limits (
  user_id        integer not null references cartage.users on delete cascade,
  endpoint_group text not null,
  -- When the next request would be due, had all the earlier ones come evenly (GCRA's theoretical arrival time).
  due_at         timestamptz not null,
  primary key (user_id, endpoint_group)
) with (fillfactor = 50);
