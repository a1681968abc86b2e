import type { ActivityWait } from '../contract/admin-names.ts'
import { answerWithin } from '../postgres/answer-within.ts'
import type { Databases } from '../postgres/databases.ts'
import { adminTarget } from '../postgres/session-target.ts'
import type { Blocker } from './question.ts'

/** What PostgreSQL tells about a backend. */
export type SeenBackend = Readonly<{
  pid: number
  /** In seconds since 1970. */
  backendStart: string
  waitsFor: ActivityWait | null
  waitEvent: string | null
  blockedBy: readonly Blocker[]
}>

export type BackendPlace = Readonly<{ hostId: number; pid: number }>

/** Looks at backends, in one query per host. Undefined for one that is gone, or whose host is unknown or does not answer in time. */
export async function lookAtBackends(
  databases: Databases,
  places: readonly BackendPlace[],
): Promise<readonly (SeenBackend | undefined)[]> {
  const hostIds = [...new Set(places.map(({ hostId }) => hostId))]
  const found = await Promise.all(
    hostIds.map(async (hostId) => {
      const pids = places.filter((place) => place.hostId === hostId).map(({ pid }) => pid)
      return [hostId, await lookOnHost(databases, hostId, pids)] as const
    }),
  )
  const seen = new Map(found)
  return places.map(({ hostId, pid }) => seen.get(hostId)!.get(pid))
}

async function lookOnHost(
  { admin, hosts }: Databases,
  hostId: number,
  pids: readonly number[],
): Promise<ReadonlyMap<number, SeenBackend>> {
  if (!hosts.has(hostId)) return new Map()
  const look = admin.use(adminTarget(hosts, hostId), async (session) => {
    session.expectAnswersWithin(answerMs)
    return (await session.look<SeenBackend>('look-at-backends', text, [pids])).rows
  })
  const rows = await answerWithin(answerMs, look).catch(() => [])
  return new Map(rows.map((backend) => [backend.pid, backend]))
}

/** Shorter than the wait for the answer that it is for. */
const answerMs = 1_000

/** Locks are read only for a backend that waits for one. */
const text = `
  select a.pid, extract(epoch from a.backend_start)::text as "backendStart",
    case
      when a.wait_event in ('ClientRead', 'ClientWrite') then 'client'
      when a.wait_event_type = 'Lock' then 'lock'
      when a.wait_event is not null then 'server'
    end as "waitsFor",
    a.wait_event_type || ': ' || a.wait_event as "waitEvent",
    case when a.wait_event_type = 'Lock' then (
      select coalesce(json_agg(json_build_object('pid', b.pid, 'role', o.usename)), '[]')
      from unnest(pg_blocking_pids(a.pid)) b (pid) left join pg_stat_activity o on o.pid = b.pid
    ) else '[]' end as "blockedBy"
  from pg_stat_activity a where a.pid = any ($1::integer[])`
