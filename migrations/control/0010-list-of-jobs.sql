-- The list of a user's jobs, newest first. Jobs that have not finished are found by the indexes of the queue. The status stands
-- before the time, so that the few failed ones among a million are found at once; a list of all merges the statuses.
create index jobs_listed on cartage.jobs (user_id, status, created_at, id) where finished_at is not null;

-- Jobs by label. Jobs without labels are not in it.
create index jobs_labelled on cartage.jobs using gin (((definition -> 'labels')::jsonb))
  where definition -> 'labels' is not null;
