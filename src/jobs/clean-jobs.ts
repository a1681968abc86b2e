import type { Pool } from 'pg'

/** Removes some jobs that ended long enough ago; answers whether there may be more. A small step locks nobody out. */
export async function cleanJobs(control: Pool, retentionDays: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.jobs j using (
       select user_id, id from cartage.jobs
       where finished_at < now() - $1 * interval '1 day'
       order by finished_at limit ${stepJobs} for update skip locked
     ) old where j.user_id = old.user_id and j.id = old.id`,
    [retentionDays],
  )
  return rowCount === stepJobs
}

const stepJobs = 500
