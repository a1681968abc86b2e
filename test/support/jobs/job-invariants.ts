/**
 * Checks every write to a job, by any writer: the constraints of the table say what a row may be, this says how it may
 * change. Only in tests and under chaos, because it costs each write a little.
 */
export async function watchJobInvariants(
  control: Readonly<{ query: (text: string) => Promise<unknown> }>,
): Promise<void> {
  // One message, so one transaction: files that start together take turns.
  await control.query(`
    lock table cartage.jobs in share row exclusive mode;
    create or replace function cartage.watch_job() returns trigger language plpgsql
    set search_path = pg_catalog, pg_temp as $$
    begin
      if to_jsonb(old) - '{is_watched,is_followed}'::text[] = to_jsonb(new) - '{is_watched,is_followed}'::text[] then
        return new;
      end if;
      if new.revision <> old.revision + 1 then
        raise exception 'job %: revision % was followed by %', old.id, old.revision, new.revision;
      end if;
      if old.finished_at is not null then
        raise exception 'job %: a final state has changed', old.id;
      end if;
      if new.worker_id is distinct from old.worker_id and new.claim is not distinct from old.claim then
        raise exception 'job %: it has changed hands under the same claim', old.id;
      end if;
      if old.flight_pid is not null and new.claim is distinct from old.claim and new.claim is not null
         and (new.flight_xid, new.flight_pid, new.flight_backend_start)
             is distinct from (old.flight_xid, old.flight_pid, old.flight_backend_start) then
        raise exception 'job %: whoever was given it has replaced a flight without settling it', old.id;
      end if;
      return new;
    end
    $$;
    create or replace trigger watch_job before update on cartage.jobs
      for each row execute function cartage.watch_job()`)
}
