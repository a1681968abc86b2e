-- How often requests were refused because their account was at a limit, by the hour (UTC) and limit. Written and removed with
-- cartage.usage, and without a foreign key for the same reason.
create table cartage.refusals (
  user_id    integer not null,
  hour       timestamptz not null,
  -- As in the limits of a user; a rate with its group: rates.sql.
  limit_name text not null,
  requests   bigint not null,
  primary key (user_id, hour, limit_name)
) with (fillfactor = 70);
create index refusals_by_hour on cartage.refusals (hour);
