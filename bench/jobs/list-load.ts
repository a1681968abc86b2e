import type { Client } from 'pg'
import { median, seconds } from '../frame/measure.ts'
import { RawClient } from '../frame/raw-client.ts'
import type { RunningService } from '../frame/service.ts'
import type { JobUser } from './job-load.ts'

/**
 * Finished jobs of a user, one per second. One in a thousand failed. Half have the label `even`, the others `odd`; one
 * in ten, all of them even, is of the schedule `hourly`.
 */
export async function fillHistory(control: Client, { id }: JobUser, count: number): Promise<void> {
  // Adds the labels in one statement: the trigger would take minutes.
  await control.query('set session_replication_role = replica')
  await control.query(
    `insert into cartage.jobs (user_id, host_id, id, definition, status, labels, schedule, created_at, updated_at, finished_at)
     select $1, 1, gen_random_uuid(), json_build_object('form', 'string', 'items', json_build_array(json_build_object('statement',
         'select ' || n))), case when n % 1000 = 0 then 'failed' else 'done' end,
       array['all', case when n % 2 = 0 then 'even' else 'odd' end], case when n % 10 = 0 then 'hourly' end, at, at, at
     from generate_series(1, $2::integer) n, lateral (select timestamptz '2026-01-01' + n * interval '1 second' as at) times`,
    [id, count],
  )
  await control.query(
    `insert into cartage.job_labels (user_id, label, schedule, status, created_at, job_id)
     select j.user_id, l.label, s.schedule, j.status, j.created_at, j.id
     from cartage.jobs j, unnest(j.labels) l (label), unnest(array['', j.schedule]) s (schedule)
     where j.user_id = $1 and s.schedule is not null order by 2, 3, 4, 5`,
    [id],
  )
  await control.query('set session_replication_role = origin')
}

/** The filters, by their names in the report. */
const filters = {
  all: '',
  'status=done': 'status=done',
  'status=failed': 'status=failed',
  'status=pending': 'status=pending',
  'label=all': 'label=all',
  'label=none': 'label=none',
  'label and status': 'label=odd&status=failed',
  schedule: 'schedule=hourly',
  'schedule and status': 'schedule=hourly&status=failed',
  'schedule and label': 'schedule=hourly&label=even',
  'schedule and label that never meet': 'schedule=hourly&label=odd',
  'since and until': 'since=2026-01-01T00:00:10Z&until=2026-01-01T00:01:00Z',
  'text that all have': 'text=select',
  'text that none has': 'text=needle',
} as const

export type PageTimes = ReadonlyMap<string, number>

/**
 * The median time of a page for each filter, in milliseconds: of the first page and of one in the middle of the list.
 */
export async function pageTimes(service: RunningService, user: JobUser, middle: string): Promise<PageTimes> {
  const client = new RawClient(service.url)
  const list = `${user.path.replace('/api/v2/sql/job', '/api/v4/jobs')}?${user.query}`
  const times = new Map<string, number>()
  for (const [words, filter] of Object.entries(filters)) {
    for (const [place, after] of [
      ['first', ''],
      ['middle', middle],
    ]) {
      const taken: number[] = []
      for (let turn = 0; turn < 15; turn++) {
        taken.push(1000 * (await seconds(() => client.read(`${list}&${filter}&after=${after}`))))
      }
      times.set(`${words}, ${place}`, median(taken))
    }
  }
  client.close()
  return times
}

/** The position of the middle job, in the form of a page's end. */
export async function middleOf(control: Client, { id }: JobUser): Promise<string> {
  const { rows } = await control.query<{ place: string }>(
    `select (extract(epoch from created_at) * 1000000)::bigint || '-' || id as place from cartage.jobs where user_id = $1
     order by created_at offset (select count(*) / 2 from cartage.jobs where user_id = $1) limit 1`,
    [id],
  )
  return rows[0]!.place
}
