-- Whoever has no key logs in as the public role, so all strangers are one role to PostgreSQL: what a role may do to its
-- own sessions, one stranger could do to another.

-- Temporary tables know no limit. Keys inherit from the public role, so each is given by name what that one loses.
do $$
declare
  role record;
begin
  for role in select role_name, key_type from cartage.roles loop
    execute format(
      case role.key_type
        when 'default' then 'revoke temporary on database %I from %I'
        else 'grant temporary on database %I to %I'
      end,
      current_database(), role.role_name);
  end loop;
end
$$;

-- What tells of sessions, and what ends them, is for master roles.
create function cartage.session_functions() returns setof regprocedure
language sql stable set search_path = pg_catalog, pg_temp as $$
  select oid::regprocedure from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace
    and (proname in ('pg_cancel_backend', 'pg_terminate_backend', 'pg_stat_get_activity') or proname ~ '^pg_stat_get_backend_')
$$;

create function cartage.allow_sessions(master_role text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  called regprocedure;
begin
  for called in select cartage.session_functions() loop
    execute format('grant execute on function %s to %I', called, master_role);
  end loop;
end
$$;

do $$
declare
  called regprocedure;
begin
  for called in select cartage.session_functions() loop
    execute format('revoke execute on function %s from public', called);
  end loop;
  perform cartage.allow_sessions(master_role) from cartage.accounts;
end
$$;
