import type { Control } from '../../postgres/transaction.ts'

/** A statement of a job that is done. */
export type RunTime = Readonly<{ userId: number; fingerprint: string; durationMs: number }>

/** Adds runs, the newest last. Only the last five of each statement are kept. */
export async function addRunTimes(control: Control, runs: readonly RunTime[]): Promise<void> {
  await control.query({
    name: 'add-run-times',
    // Not needed after a crash, so this does not wait for the disk.
    text: `with off as materialized (select set_config('synchronous_commit', 'off', true)),
      added as (
        select r.user_id, r.fingerprint, array_agg(r.ms order by r.place desc) as durations
        from off, unnest($1::integer[], $2::text[], $3::bigint[]) with ordinality r (user_id, fingerprint, ms, place)
        where exists (select from cartage.users u where u.id = r.user_id)
        group by r.user_id, r.fingerprint order by r.user_id, r.fingerprint
      )
      insert into cartage.run_times as t (user_id, fingerprint, durations_ms)
      select user_id, fingerprint, durations[1:5] from added
      on conflict (user_id, fingerprint) do update
      set durations_ms = (excluded.durations_ms || t.durations_ms)[1:5], updated_at = clock_timestamp()`,
    values: [
      runs.map(({ userId }) => userId),
      runs.map(({ fingerprint }) => fingerprint),
      runs.map(({ durationMs }) => Math.round(durationMs)),
    ],
  })
}

/** The median of the last five runs; undefined if there were none. */
export async function medianRunTime(
  control: Control,
  userId: number,
  fingerprint: string,
): Promise<number | undefined> {
  const { rows } = await control.query<{ median: number | null }>({
    name: 'median-run-time',
    text: `select (select percentile_cont(0.5) within group (order by ms) from unnest(t.durations_ms) ms) as median
      from cartage.run_times t where t.user_id = $1 and t.fingerprint = $2`,
    values: [userId, fingerprint],
  })
  return rows[0]?.median ?? undefined
}

/** Removes some that have not run for as long as jobs are kept, and what a user has beyond a thousand. True: there may be more. */
export async function cleanRunTimes(control: Control, retentionDays: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.run_times t using (
       (select user_id, fingerprint from cartage.run_times
        where updated_at < now() - $1 * interval '1 day' limit ${stepRows})
       union
       (select crowded.user_id, oldest.fingerprint
        from (select user_id, count(*) from cartage.run_times group by user_id having count(*) > ${mostOfUser} limit 1)
          as crowded (user_id, count),
          lateral (select fingerprint from cartage.run_times t where t.user_id = crowded.user_id
            order by updated_at limit least(crowded.count - ${mostOfUser}, ${stepRows})) as oldest)
     ) old where t.user_id = old.user_id and t.fingerprint = old.fingerprint`,
    [retentionDays],
  )
  return (rowCount ?? 0) > 0
}

const stepRows = 500
const mostOfUser = 1_000
