import type { Account } from '../../auth/account.ts'
import type { Control } from '../../postgres/transaction.ts'

/** Each change of a job that is followed, by its id. */
export const followedChannel = 'cartage_followed_jobs'

/**
 * From now on each change of the job is notified. If its row is locked, this does not wait: the next round asks again.
 */
export async function markFollowed(control: Control, { userId }: Account, id: string): Promise<void> {
  await control.query({
    name: 'mark-followed',
    // No need to wait for the disk: a crash ends the following too.
    text: `update cartage.jobs set is_followed = true
      where user_id = $1 and id = (
        select id from cartage.jobs
        where user_id = $1 and id = $2 and finished_at is null and not is_followed
          and set_config('synchronous_commit', 'off', true) = 'off'
        for update skip locked
      )`,
    values: [userId, id],
  })
}

export type FollowedRow = Readonly<{ id: string; revision: number; isMarked: boolean }>

/** The revisions of jobs; of one that is gone there is none. */
export async function readRevisions(
  control: Control,
  jobs: readonly Readonly<{ account: Account; id: string }>[],
): Promise<ReadonlyMap<string, FollowedRow>> {
  const { rows } = await control.query<FollowedRow>({
    name: 'read-revisions',
    text: `select j.id, j.revision, j.is_followed or j.finished_at is not null as "isMarked"
      from unnest($1::integer[], $2::uuid[]) w (user_id, id) join cartage.jobs j using (user_id, id)`,
    values: [jobs.map(({ account }) => account.userId), jobs.map(({ id }) => id)],
  })
  return new Map(rows.map((row) => [row.id, row]))
}
