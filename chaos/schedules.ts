import { insist } from './insist.ts'
import type { Stage } from './stage.ts'

/** Schedules that become due one after another, about one per second, and then every minute. */
export class Schedules {
  readonly #stage: Stage
  /** The first due time of each, and when it was stopped. */
  #spans: readonly Span[] = []

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async start(seconds: number): Promise<void> {
    const users = this.#stage.users.map(({ account }) => account.userId)
    await insist(() =>
      this.#stage.admin(
        `insert into cartage.schedules (user_id, name, cron, timezone, definition, overlap, catch_up, next_due_at)
         select ($1::integer[])[1 + number % cardinality($1::integer[])], 's' || number, '* * * * *', 'UTC',
           '{"form": "string", "items": [{"statement": "select 1"}]}', 'queue', 'none',
           clock_timestamp() + number * interval '1 second'
         from generate_series(0, least($2::integer, 300)) number
         on conflict do nothing`,
        [users, seconds],
      ),
    )
    const { rows } = await insist(() =>
      this.#stage.admin('select user_id, name, next_due_at as first from cartage.schedules'),
    )
    this.#spans = rows
  }

  /** After this no due time comes any more. */
  async stop(): Promise<void> {
    await insist(() =>
      this.#stage.admin(
        `update cartage.schedules set disabled_reason = next_due_at::text, next_due_at = null where next_due_at is not null`,
      ),
    )
  }

  /** Counts the due times, and returns what is wrong with them. */
  async judge(): Promise<Readonly<{ dueTimes: number; problems: readonly string[] }>> {
    const { rows: runs } = await insist(() =>
      this.#stage.admin(
        `select r.user_id, r.name, r.due_at, r.job_id, r.skipped, j.id as found,
           s.disabled_reason::timestamptz as next
         from cartage.schedule_runs r join cartage.schedules s using (user_id, name)
         left join cartage.jobs j on j.user_id = r.user_id and j.id = r.job_id order by r.due_at`,
      ),
    )
    const { rows: strays } = await insist(() =>
      this.#stage.admin(
        `select j.id, j.definition ->> 'schedule' as name from cartage.jobs j
         where j.definition ->> 'schedule' is not null
           and not exists (select from cartage.schedule_runs r where r.user_id = j.user_id and r.job_id = j.id)`,
      ),
    )
    return {
      dueTimes: runs.length,
      problems: [
        ...strays.map(({ id, name }) => `${name}: the job ${id} belongs to no due time`),
        ...(runs as Run[]).flatMap(judgeRun),
        ...this.#spans.flatMap((span) => lostTimes(span, runs as Run[])),
      ],
    }
  }
}

type Span = Readonly<{ user_id: number; name: string; first: Date }>
type Run = Readonly<{
  user_id: number
  name: string
  due_at: Date
  job_id: string | null
  skipped: string | null
  found: string | null
  next: Date | null
}>

function judgeRun({ name, due_at, job_id, found }: Run): string[] {
  const isLost = job_id !== null && found === null
  return isLost ? [`${name}: the job of ${due_at.toISOString()} does not exist`] : []
}

/** Each due time from the first to the last has a record: the first one as it was set, then every full minute. */
function lostTimes({ user_id, name, first }: Span, all: readonly Run[]): string[] {
  const runs = all.filter((run) => run.user_id === user_id && run.name === name)
  const next = runs[0]?.next
  if (!next) return []
  const known = new Set(runs.map(({ due_at }) => due_at.getTime()))
  const lost: string[] = []
  for (let due = first.getTime(); due < next.getTime(); due = (Math.floor(due / minuteMs) + 1) * minuteMs)
    if (!known.has(due)) lost.push(`${name}: no record of ${new Date(due).toISOString()}`)
  return lost
}

const minuteMs = 60_000
