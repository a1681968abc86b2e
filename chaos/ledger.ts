import { placesOf } from './places.ts'
import { runSql } from './postgres/run-sql.ts'
import type { Stage } from './stage.ts'

/** The entries of each user, in the order of their creation. */
export async function readLedgers(stage: Stage): Promise<readonly (readonly string[])[]> {
  const places = await placesOf(stage)
  return Promise.all(
    stage.users.map(({ account: { database } }) => entriesIn(places.get(database)!, database)),
  )
}

/** The job that wrote the entry. */
export const keyOf = (entry: string) => entry.split('/', 1)[0]!

/** The entries on one server, from the given databases that it has. */
export async function readEntries(url: string, databases: readonly string[]): Promise<Set<string>> {
  const { rows } = await runSql(url, 'postgres', 'select datname from pg_database')
  const found = rows.map(({ datname }) => datname as string).filter((name) => databases.includes(name))
  const entries = await Promise.all(found.map((database) => entriesIn(url, database)))
  return new Set(entries.flat())
}

async function entriesIn(url: string, database: string): Promise<string[]> {
  const { rows } = await runSql(
    url,
    database,
    `select entry from (
       table public.ledger union all table public.slow_ledger
       union all select ${madeTable}, null from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname not in ('ledger', 'slow_ledger')
     ) entries order by at`,
  )
  return rows.map(({ entry }) => entry)
}

/** A table created by an import counts as its first entry. Its sequence, and any other table, has its own entry. */
const madeTable = `case when relkind = 'r' then relname || '/0' else replace(relname, '_cartodb_id_seq', '/sequence') end`

type Step = Readonly<{ status?: string; endedAt?: string; fallbackStatus?: string }>

/** The entries that the control database calls done, with the time when that was settled, if known. */
export async function recordedEntries(
  stage: Stage,
  ofLastMinutes: number,
): Promise<Map<string, Date | undefined>> {
  const { rows } = await stage.admin(
    `select idempotency_key as key, progress from cartage.jobs
     where progress is not null and updated_at > now() - make_interval(mins => $1)`,
    [ofLastMinutes],
  )
  const recorded = new Map<string, Date | undefined>()
  const noteFallbacks = (place: string, { fallbackStatus }: Step) => {
    if (fallbackStatus !== 'done') return
    // The item shows which of the two it was: the other one was never sent.
    for (const event of ['onsuccess', 'onerror']) recorded.set(`${place}/${event}`, undefined)
  }
  for (const { key, progress } of rows as { key: string; progress: Step & { items: Step[] } }[]) {
    noteFallbacks(key, progress)
    for (const [index, item] of progress.items.entries()) {
      const place = `${key}/${index}`
      if (item.status === 'done') recorded.set(place, item.endedAt ? new Date(item.endedAt) : undefined)
      noteFallbacks(place, item)
    }
  }
  return recorded
}
