import type { AuditAction } from '../contract/admin-names.ts'
import type { Queryable } from '../postgres/transaction.ts'

export type AuditEntry = Readonly<{
  /** Who did it: `operator`, or the user of the key. */
  actor: string
  action: AuditAction
  /** The affected user or organization. */
  account?: string | null
  /** What was affected within the account, such as the name of a key. */
  subject?: string | null
  /** Never contains a token. */
  details?: Readonly<Record<string, unknown>>
}>

export type AuditRecord = Required<AuditEntry> & Readonly<{ id: number; at: Date }>

export const operator = 'operator'

/** Call in the transaction that makes the change: a change that is rolled back is not recorded. */
export async function recordAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  await tx.query(
    'insert into cartage.audit (actor, action, account, subject, details) values ($1, $2, $3, $4, $5)',
    [
      entry.actor,
      entry.action,
      entry.account ?? null,
      entry.subject ?? null,
      JSON.stringify(entry.details ?? {}),
    ],
  )
}

/** The first use of a key on a day. */
export type FirstUse = Readonly<{
  keyId: number
  /** In UTC, such as 2026-01-31. */
  day: string
  username: string
  keyName: string
  /** The address of the client. */
  address: string
  apis: readonly string[]
}>

/** Records those of the uses that no process has recorded. The key may be deleted by now. */
export async function recordFirstUses(control: Queryable, uses: readonly FirstUse[]): Promise<void> {
  const noted = uses.map(({ keyId, day, username, keyName, address, apis }) => ({
    key_id: keyId,
    day,
    username,
    key_name: keyName,
    details: { day, address, apis },
  }))
  await control.query(
    `with use as (
       select * from jsonb_to_recordset($1::jsonb)
         as use (key_id integer, day date, username text, key_name text, details jsonb)
     ), first as (
       insert into cartage.key_uses as known (key_id, last_used_at, audited_on)
       select key_id, clock_timestamp(), day from use order by key_id
       on conflict (key_id) do update set audited_on = excluded.audited_on
       -- A process that tells late of a day that is over must not take the newer one back.
       where known.audited_on is null or known.audited_on < excluded.audited_on
       returning key_id
     )
     insert into cartage.audit (actor, action, account, subject, details)
     select username, $2, username, key_name, details from use join first using (key_id) order by key_id`,
    [JSON.stringify(noted), 'key.used' satisfies AuditAction],
  )
}

/** An owner or admin read on this day, in UTC, what another member ran. Left out if another process has recorded it. */
export async function recordFirstReading(
  control: Queryable,
  day: string,
  {
    reader,
    member,
    key,
    address,
  }: Readonly<{ reader: string; member: string; key: string; address: string }>,
): Promise<void> {
  await control.query(
    `insert into cartage.audit (actor, action, account, subject, details)
     select $1, $2, $3, $4, $5 where not exists (
       select from cartage.audit where account = $3 and action = $2 and actor = $1
         and at >= $6::timestamp at time zone 'UTC')`,
    [reader, 'history.read' satisfies AuditAction, member, key, JSON.stringify({ day, address }), day],
  )
}

/** What a host's guard has ended, of one role and for one reason. */
export type GuardEnding = Readonly<{
  masterRole: string
  role: string
  host: string
  why: string
  count: number
  table?: string
}>

export async function recordEnding(
  control: Queryable,
  { masterRole, ...details }: GuardEnding,
): Promise<void> {
  await control.query(
    `insert into cartage.audit (actor, action, account, subject, details)
     values ('guard', $1, (select username from cartage.users where master_role = $2), $3, $4)`,
    ['session.ended' satisfies AuditAction, masterRole, details.role, JSON.stringify(details)],
  )
}

/** How many statements the guard ended in the last day, and of which accounts. */
export async function countEndings(
  control: Queryable,
): Promise<Readonly<{ count: number; accounts: readonly string[] }>> {
  const { rows } = await control.query<{ count: number; accounts: string[] }>(
    `select coalesce(sum((details ->> 'count')::integer), 0)::integer as count,
       coalesce(array_agg(distinct account) filter (where account is not null), '{}') as accounts
     from cartage.audit where action = $1 and at > now() - interval '1 day'`,
    ['session.ended' satisfies AuditAction],
  )
  return rows[0]!
}

/** Tables that kept autovacuum busy in the last week, with their accounts. */
export async function heldAutovacuum(control: Queryable): Promise<readonly string[]> {
  const { rows } = await control.query<{ name: string }>(
    `select distinct coalesce(account, subject) || ': ' || (details ->> 'table') as name
     from cartage.audit where action = $1 and details ? 'table' and at > now() - interval '7 days' order by 1`,
    ['session.ended' satisfies AuditAction],
  )
  return rows.map(({ name }) => name)
}

export type WantedAudit = Readonly<{
  account?: string | undefined
  action?: string | undefined
  since?: string | undefined
  /** Only records before this one. */
  beforeId?: number | undefined
  limit: number
}>

/** Newest first. */
export async function listAudit(control: Queryable, filter: WantedAudit): Promise<readonly AuditRecord[]> {
  const { rows } = await control.query<AuditRecord>(
    `select id::float8 as id, at, actor, action, account, subject, details from cartage.audit
     where ($1::text is null or account = $1) and ($2::text is null or action = $2)
       and ($3::bigint is null or id < $3) and ($5::timestamptz is null or at >= $5)
     order by audit.id desc limit $4`,
    [
      filter.account ?? null,
      filter.action ?? null,
      filter.beforeId ?? null,
      filter.limit,
      filter.since ?? null,
    ],
  )
  return rows
}

/**
 * Deletes some records older than the retention. True: there may be more. Deleting all in one statement could exceed
 * the statement timeout. The database itself keeps everything for at least thirty days.
 */
export async function cleanAudit(control: Queryable, retentionDays: number): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.audit where id = any (array(
       select id from cartage.audit where at < now() - make_interval(days => $1) order by at limit ${stepRecords}
     ))`,
    [Math.max(retentionDays, 31)],
  )
  return rowCount === stepRecords
}

const stepRecords = 5_000

/** Where records are shipped to, each from an outbox of its own. */
const outboxes = { file: 'cartage.audit_outbox', syslog: 'cartage.audit_syslog_outbox' } as const
export type AuditSink = keyof typeof outboxes

/** True for one process at a time, until it is released or not renewed. */
export async function claimSink(
  control: Queryable,
  sink: AuditSink,
  claim: string,
  forMs: number,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `insert into cartage.audit_shippers as known (sink, claim, until)
     values ($1, $2, clock_timestamp() + make_interval(secs => $3))
     on conflict (sink) do update set claim = excluded.claim, until = excluded.until
     where known.claim = excluded.claim or known.until < clock_timestamp()`,
    [sink, claim, forMs / 1000],
  )
  return rowCount === 1
}

export async function releaseSink(control: Queryable, sink: AuditSink, claim: string): Promise<void> {
  await control.query('delete from cartage.audit_shippers where sink = $1 and claim = $2', [sink, claim])
}

/** The oldest records that were not shipped yet. */
export async function unshippedRecords(
  control: Queryable,
  sink: AuditSink,
  most: number,
): Promise<readonly AuditRecord[]> {
  const { rows } = await control.query<AuditRecord>(
    `select id::float8 as id, at, actor, action, account, subject, details
     from cartage.audit join ${outboxes[sink]} using (id) order by audit.id limit $1`,
    [most],
  )
  return rows
}

export async function removeShipped(
  control: Queryable,
  sink: AuditSink,
  ids: readonly number[],
): Promise<void> {
  await control.query(`delete from ${outboxes[sink]} where id = any ($1::bigint[])`, [ids])
}

/** How many records wait to be shipped, and the oldest. */
export async function unshipped(
  control: Queryable,
  sink: AuditSink,
): Promise<Readonly<{ count: number; since: Date | null; isLate: boolean }>> {
  const { rows } = await control.query<{ count: number; since: Date | null; isLate: boolean }>(
    `select count(*)::integer as count, min(a.at) as since,
       coalesce(min(a.at) < now() - interval '1 minute', false) as "isLate"
     from ${outboxes[sink]} o join cartage.audit a on a.id = o.id`,
  )
  return rows[0]!
}
