-- Who changed which account or key, and whose credentials were refused. Tokens never come here.
create table cartage.audit (
  id      bigint generated always as identity primary key,
  at      timestamptz not null default now(),
  -- `operator`, the user whose key asked, or the address that a refused request came from.
  actor   text not null,
  action  text not null,
  -- The user or organization that it happened to.
  account text,
  -- What it happened to within the account, such as the name of a key.
  subject text,
  details jsonb not null default '{}'
);
create index audit_by_time on cartage.audit (at);
create index audit_by_account on cartage.audit (account, id);

-- Append only: nothing is changed, and nothing removed within its first thirty days.
create function cartage.keep_audit() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days' then
    return old;
  end if;
  raise exception 'the audit record is append-only';
end
$$;
create trigger keep_audit before update or delete on cartage.audit
  for each row execute function cartage.keep_audit();
create trigger keep_all_audit before truncate on cartage.audit
  for each statement execute function cartage.keep_audit();
