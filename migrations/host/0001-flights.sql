-- The statements of jobs that were about to be sent to this host, in a database that no tenant can enter. Every host has it but
-- that of the control database.
--
-- Each statement is written here before it is sent, in the log of the host itself. So a fail-over or a restore that loses the
-- statement also loses its mark, or keeps its xid from being used again. And if the control database loses the progress of a
-- job, what stands here still shows what was sent.
create table cartage.flights (
  job_id            uuid not null,
  step              text not null,
  -- Null: the statement runs outside of a transaction of ours.
  xid               xid8,
  pid               integer not null,
  backend_start     timestamptz not null,
  -- An xid means nothing in another cluster, such as one restored from pg_dump.
  system_identifier bigint not null,
  marked_at         timestamptz not null default clock_timestamp(),
  primary key (job_id, step)
);
create index flights_by_age on cartage.flights (marked_at);

-- Marks that a statement is about to be sent. Another flight of the same step is replaced only if the caller has settled it;
-- one that the caller does not know of is returned and stays. `gone`: the backend of the statement has ended, perhaps with the
-- whole server, so its xid may be used again.
--
-- The pid 0 says that the step must not be sent: its job is being cancelled. A worker that finds it has to make sure that it still
-- has the job. If it has, the cancel has died, and the mark can be replaced.
create function cartage.mark_flight(
  of_job uuid, of_step text, new_xid xid8, new_pid integer, new_start timestamptz,
  settled_xid xid8, settled_pid integer, settled_start timestamptz
) returns json language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  other cartage.flights;
begin
  if new_pid <> 0 and not exists (select from pg_stat_activity a where a.pid = new_pid and a.backend_start = new_start) then
    return json_build_object('outcome', 'gone');
  end if;
  insert into cartage.flights as f (job_id, step, xid, pid, backend_start, system_identifier)
  values (of_job, of_step, new_xid, new_pid, new_start, (select c.system_identifier from pg_control_system() c))
  on conflict (job_id, step) do update
  set xid = excluded.xid, pid = excluded.pid, backend_start = excluded.backend_start,
      system_identifier = excluded.system_identifier, marked_at = excluded.marked_at
  where (f.xid, f.pid, f.backend_start) is not distinct from (settled_xid, settled_pid, settled_start)
     or (f.xid, f.pid, f.backend_start) is not distinct from (excluded.xid, excluded.pid, excluded.backend_start);
  if found then
    return json_build_object('outcome', 'marked');
  end if;
  select f.* into other from cartage.flights f where f.job_id = of_job and f.step = of_step;
  return json_build_object(
    'outcome', 'other', 'pid', other.pid, 'backend_start', other.backend_start::text, 'xid', other.xid
  );
end
$$;
