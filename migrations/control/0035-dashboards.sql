-- Saved queries on a grid. The data comes from the queries, as the key of whoever looks.
create table cartage.dashboards (
  user_id     integer not null references cartage.users on delete cascade,
  name        text not null,
  title       text not null,
  description text not null,
  -- Whether callers without a key may read it.
  is_public   boolean not null,
  -- Filters, parts and the time between two refreshes. JSON as text, as its order counts.
  content     text not null,
  created_at  timestamptz not null default clock_timestamp(),
  updated_at  timestamptz not null default clock_timestamp(),
  primary key (user_id, name)
);
