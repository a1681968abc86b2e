-- The list of a user's jobs, newest first. Jobs that have not finished are found by the indexes of the queue. The status stands
-- before the time, so that the few failed ones among a million are found at once; a list of all merges the statuses.
create index jobs_listed on cartage.jobs (user_id, status, created_at, id) where finished_at is not null;

-- The labels of a job, with their user: a label that another user has on a million jobs makes no search slower.
create function cartage.labels_of(owner integer, definition json) returns text[] language sql immutable
set search_path = pg_catalog, pg_temp as $$
  select array_agg(owner || ' ' || label) from json_array_elements_text(definition -> 'labels') label
$$;

-- Jobs by label. Jobs without labels are not in it.
create index jobs_labelled on cartage.jobs using gin (cartage.labels_of(user_id, definition))
  where definition -> 'labels' is not null;
