import type { Databases } from '../../postgres/databases.ts'
import { adminTarget } from '../../postgres/session-target.ts'
import type { Flight } from '../job-store.ts'

/** What PostgreSQL tells about a running statement. */
export type SeenStatement = Readonly<{
  /** Since it was sent, by the clock of its host. */
  runMs: number
  phase: string | null
  /** The percentage of the phase; null if PostgreSQL gives no total. */
  percent: number | null
  /** The kind of lock that it waits for, such as `relation`. */
  lock: string | null
  /** The sessions of the account that block the statement. */
  blockers: readonly BlockingSession[]
}>

export type BlockingSession = Readonly<{ pid: number; state: string | null; query: string; since: string }>

/** A statement to look at, and whose sessions its owner may see. */
export type Watched = Readonly<{ flight: Flight; masterRole: string }>

/** Looks at statements on one host, in one query. Undefined where the backend is gone, or no longer runs. */
export async function lookAtStatements(
  { admin, hosts }: Databases,
  hostId: number,
  watched: readonly Watched[],
): Promise<readonly (SeenStatement | undefined)[]> {
  return admin.use(adminTarget(hosts, hostId), async (session) => {
    session.expectAnswersWithin(answerMs)
    const { rows } = await session.look<SeenStatement & { place: number }>('look-at-statements', text, [
      watched.map(({ flight }) => flight.pid),
      watched.map(({ flight }) => flight.backendStart),
      watched.map(({ masterRole }) => masterRole),
    ])
    const seen = new Map(rows.map(({ place, ...statement }) => [place, statement]))
    return watched.map((_, index) => seen.get(index + 1))
  })
}

const answerMs = 3_000

/** A share of a total in percent; null without a total. */
const share = (done: string, total: string) =>
  `case when ${total} > 0 then least(100, round(100.0 * ${done} / ${total}, 1))::float8 end`

/** On its first block, PostgreSQL reports a scan for an index as complete. */
const progress = `
  select phase, coalesce(${share('tuples_done', 'tuples_total')},
      case when blocks_done < blocks_total then ${share('blocks_done', 'blocks_total')} end) as percent
    from pg_stat_progress_create_index where pid = a.pid
  union all
  select 'copying', ${share('bytes_processed', 'bytes_total')} from pg_stat_progress_copy where pid = a.pid
  union all
  select phase, case phase
      when 'scanning heap' then ${share('heap_blks_scanned', 'heap_blks_total')}
      when 'vacuuming heap' then ${share('heap_blks_vacuumed', 'heap_blks_total')} end
    from pg_stat_progress_vacuum where pid = a.pid
  union all
  select phase, ${share('sample_blks_scanned', 'sample_blks_total')} from pg_stat_progress_analyze where pid = a.pid
  union all
  select phase, ${share('heap_blks_scanned', 'heap_blks_total')} from pg_stat_progress_cluster where pid = a.pid`

/**
 * The sessions of an account are those of its master role, its public role and its keys: never another member of its
 * organization. Locks are read only for a statement that waits for one.
 */
const text = `
  select w.place::integer,
    greatest(0, extract(epoch from clock_timestamp() - a.query_start) * 1000)::float8 as "runMs",
    p.phase, p.percent,
    case when a.wait_event_type = 'Lock' then a.wait_event end as lock,
    case when a.wait_event_type = 'Lock' then (
      select coalesce(json_agg(json_build_object(
        'pid', o.pid, 'state', o.state, 'query', left(o.query, 1024), 'since', o.state_change)), '[]')
      from pg_stat_activity o where o.pid = any (pg_blocking_pids(a.pid))
        and o.usename ~ ('^' || w.master_role || '(_public|_k[0-9]+)?$')
    ) else '[]' end as blockers
  from unnest($1::integer[], $2::timestamptz[], $3::text[]) with ordinality w (pid, backend_start, master_role, place)
  join pg_stat_activity a on a.pid = w.pid and a.backend_start = w.backend_start and a.state = 'active'
  left join lateral (${progress} limit 1) p on true`
