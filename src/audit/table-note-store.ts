import type { AuditAction } from '../contract/admin-names.ts'
import type { TenantDatabase } from '../postgres/tenant-names.ts'
import type { Queryable } from '../postgres/transaction.ts'

/** A database whose notes are collected. */
export type NotedDatabase = TenantDatabase & Readonly<{ databaseId: number }>

/** What a tenant did to a table, as its database has noted it. */
export type TableNote = Readonly<{
  id: string
  /** With microseconds: they keep the order of what one transaction did. */
  at: string
  username: string
  role: string
  action: AuditAction
  /** The account of the table. */
  account: string
  subject: string | null
  details: Readonly<Record<string, unknown>>
}>

/** True for one process at a time, as long as it renews its claim. */
export async function claimLook(
  control: Queryable,
  hostId: number,
  claim: string,
  forMs: number,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `insert into cartage.note_looks as known (host_id, claim, until)
     select id, $2, clock_timestamp() + make_interval(secs => $3) from cartage.hosts where id = $1
     on conflict (host_id) do update set claim = excluded.claim, until = excluded.until
     where known.claim = excluded.claim or known.until < clock_timestamp()`,
    [hostId, claim, forMs / 1000],
  )
  return rowCount === 1
}

/** How many rows were ever inserted into a database, as PostgreSQL counts them. Survives no crash. */
export type Inserted = Readonly<{ database: string; inserted: string }>

/** The databases of a host into which rows were inserted since their notes were collected. */
export async function writtenDatabases(
  control: Queryable,
  hostId: number,
  counts: readonly Inserted[],
): Promise<readonly (NotedDatabase & Inserted)[]> {
  const { rows } = await control.query<NotedDatabase & Inserted>(
    `select d.id as "databaseId", d.host_id as "hostId", d.name as database, now.inserted::text
     from jsonb_to_recordset($2::jsonb) as now (database text, inserted bigint)
     join cartage.databases d on d.host_id = $1 and d.name = now.database
     left join cartage.note_turns known on known.database_id = d.id
     where known.inserted is distinct from now.inserted order by d.id`,
    [hostId, JSON.stringify(counts)],
  )
  return rows
}

export async function placeOf(
  control: Queryable,
  hostId: number,
  database: string,
): Promise<NotedDatabase | undefined> {
  const { rows } = await control.query<NotedDatabase>(
    `select id as "databaseId", host_id as "hostId", name as database
     from cartage.databases where host_id = $1 and name = $2`,
    [hostId, database],
  )
  return rows[0]
}

export async function recordInserted(
  control: Queryable,
  { databaseId, inserted }: NotedDatabase & Inserted,
): Promise<void> {
  await control.query(
    `insert into cartage.note_turns (database_id, inserted) select id, $2 from cartage.databases where id = $1
     on conflict (database_id) do update set inserted = excluded.inserted`,
    [databaseId, inserted],
  )
}

/** The next turn; undefined if the database is gone. */
export async function takeTurn(
  control: Queryable,
  { databaseId }: NotedDatabase,
): Promise<string | undefined> {
  const { rows } = await control.query<{ turn: string }>(
    `insert into cartage.note_turns as known (database_id, turn) select id, 1 from cartage.databases where id = $1
     on conflict (database_id) do update set turn = known.turn + 1 returning turn::text`,
    [databaseId],
  )
  return rows[0]?.turn
}

/** False: another process has taken a later turn. */
export async function lockTurn(tx: Queryable, { databaseId }: NotedDatabase, turn: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from cartage.note_turns where database_id = $1 and turn = $2 for update',
    [databaseId, turn],
  )
  return rowCount === 1
}

/** Marks the notes as recorded, and returns the ids of those that were not. */
export async function markCollected(
  tx: Queryable,
  { databaseId }: NotedDatabase,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await tx.query<{ id: string }>(
    `insert into cartage.collected_notes (database_id, id)
     select $1, note.id from unnest($2::uuid[]) as note (id)
     where not exists (select from cartage.audit where note_id = note.id)
     on conflict do nothing returning id::text`,
    [databaseId, ids],
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * They are in the tenant database no more. In a later turn another process may have read them before: then the marks
 * stay, until that process removes them.
 */
export async function forgetCollected(
  control: Queryable,
  { databaseId }: NotedDatabase,
  turn: string,
  ids: readonly string[] | 'all',
): Promise<void> {
  await control.query(
    `with mine as materialized (
       select database_id from cartage.note_turns where database_id = $1 and turn = $2 for update
     )
     delete from cartage.collected_notes mark using mine
     where mark.database_id = mine.database_id and ($3::uuid[] is null or mark.id = any ($3))`,
    [databaseId, turn, ids === 'all' ? null : ids],
  )
}

/** How many records of tables each of these users has caused in the last hour. */
export async function countTableRecords(
  tx: Queryable,
  usernames: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await tx.query<{ actor: string; count: number }>(
    `select actor, count(*)::integer as count from cartage.audit
     where at > now() - interval '1 hour' and actor = any ($1) and action like 'table.%' group by actor`,
    [usernames],
  )
  return new Map(rows.map(({ actor, count }) => [actor, count]))
}

/** With the name of the key, if there still is one. */
export async function recordNotes(tx: Queryable, notes: readonly TableNote[]): Promise<void> {
  await tx.query(
    `insert into cartage.audit (note_id, at, actor, action, account, subject, details)
     select note.id, note.at, note.username, note.action, note.account, note.subject,
       case when key.name is null then jsonb_build_object('role', note.role) else jsonb_build_object('key', key.name) end
         || note.details
     from jsonb_to_recordset($1::jsonb) as note
       (id uuid, at timestamptz, username text, role text, action text, account text, subject text, details jsonb)
     left join cartage.api_keys key on key.role_name = note.role
     order by note.at on conflict do nothing`,
    [JSON.stringify(notes)],
  )
}
