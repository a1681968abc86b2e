import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import { type DeliveryStatus, maxPendingTests } from '../contract/webhooks.ts'
import { errors } from '../errors.ts'
import { type JobRow, readJob } from '../jobs/job-store.ts'
import { type Control, inTransaction } from '../postgres/transaction.ts'
import type { Subject } from './message.ts'

/** A message that this sender is to send now. */
export type ClaimedDelivery = Readonly<{
  id: string
  claim: string
  userId: number
  type: string
  subject: string | null
  body: string | null
  attempts: number
  createdAt: Date
  claimedAt: Date
  url: string
  sealedSecret: Buffer | null
  includeSql: boolean
}>

/**
 * Takes messages that are due. Users take turns, and each has at most `perUser` under way, so that a user whose
 * addresses do not answer does not delay the others. Messages of suspended users wait. The oldest message of one job
 * and address goes first. If nothing is written of an attempt, another sender makes the next attempt.
 */
export async function claimDeliveries(
  control: Control,
  { most, perUser, underWay, leaseSeconds }: ClaimWish,
): Promise<readonly ClaimedDelivery[]> {
  const { rows } = await control.query<ClaimedDelivery>({
    name: 'claim-deliveries',
    text: `with recursive pending_user (user_id) as (
        (select d.user_id from cartage.webhook_deliveries d where d.status = 'pending' order by d.user_id limit 1)
        union all
        select (select d.user_id from cartage.webhook_deliveries d
          where d.status = 'pending' and d.user_id > p.user_id order by d.user_id limit 1)
        from pending_user p where p.user_id is not null
      ), owner as (
        select p.user_id, coalesce(busy.count, 0) as busy
        from pending_user p join cartage.users u on u.id = p.user_id and u.suspended_at is null
          left join unnest($3::integer[], $4::integer[]) as busy (user_id, count) using (user_id)
      ), due as (
        select d.id from owner, lateral (
          select d.id, d.due_at, row_number() over (order by d.due_at) as turn from cartage.webhook_deliveries d
          where d.status = 'pending' and d.user_id = owner.user_id and d.due_at <= clock_timestamp()
            and not exists (select from cartage.webhook_deliveries earlier
              where earlier.webhook_id = d.webhook_id and earlier.subject = d.subject and earlier.status = 'pending'
                and earlier.position < d.position)
          order by d.due_at limit greatest($2 - owner.busy, 0)
        ) d order by owner.busy + d.turn, d.due_at limit $1
      ), locked as (
        select d.id from cartage.webhook_deliveries d
        where d.id in (select id from due) and d.status = 'pending' and d.due_at <= clock_timestamp() for update skip locked
      )
      update cartage.webhook_deliveries d
      set claim = gen_random_uuid(), attempts = d.attempts + 1, updated_at = clock_timestamp(),
        due_at = clock_timestamp() + make_interval(secs => $5)
      from locked, cartage.webhooks w where d.id = locked.id and w.id = d.webhook_id
      returning d.id, d.claim, d.user_id as "userId", d.type, d.subject, d.body, d.attempts, d.created_at as "createdAt",
        d.updated_at as "claimedAt", w.url, w.sealed_secret as "sealedSecret", w.include_sql as "includeSql"`,
    values: [most, perUser, [...underWay.keys()], [...underWay.values()], leaseSeconds],
  })
  return rows
}

export type ClaimWish = Readonly<{
  most: number
  perUser: number
  /** How many messages of each user this sender has under way. */
  underWay: ReadonlyMap<number, number>
  leaseSeconds: number
}>

/** What the message is about. Undefined: it was deleted meanwhile. */
export async function findSubject(
  control: Control,
  userId: number,
  id: string,
): Promise<Subject | undefined> {
  const { rows } = await control.query<JobRow & { is_import: boolean; import_result: unknown }>(
    `select j.user_id, j.id, j.status, j.definition, j.progress, j.claim, j.revision, j.created_at, j.updated_at,
       j.flight_xid, j.flight_pid, j.flight_backend_start::text, u.username, j.is_import, i.result as import_result
     from cartage.jobs j join cartage.users u on u.id = j.user_id
       left join cartage.imports i on i.user_id = j.user_id and i.id = j.id
     where j.user_id = $1 and j.id = $2`,
    [userId, id],
  )
  const [row] = rows
  if (!row) return undefined
  const result = row.import_result as { tables?: readonly string[] } | null
  return { job: readJob(row), isImport: row.is_import, tables: result?.tables ?? [] }
}

/** Every attempt sends the same bytes. False: another sender has taken it over. */
export async function keepBody(
  control: Control,
  { id, claim }: ClaimedDelivery,
  body: string,
): Promise<boolean> {
  const { rowCount } = await control.query(
    'update cartage.webhook_deliveries set body = $3 where id = $1 and claim = $2',
    [id, claim, body],
  )
  return rowCount === 1
}

export type DeliveryAttempt = Readonly<{
  isDelivered: boolean
  answer: number | null
  failure: string | null
}>

/**
 * Only of the last attempt. After its time is over, or when its webhook was disabled meanwhile, a message is undelivered. The body
 * of a delivered one can be made again from its job.
 */
export async function writeAttempt(
  control: Control,
  { id, claim }: ClaimedDelivery,
  { isDelivered, answer, failure }: DeliveryAttempt,
  pauseSeconds: number,
): Promise<void> {
  await control.query(
    `update cartage.webhook_deliveries
     set status = case when $3 then 'delivered' when gives_up_at <= clock_timestamp() then 'undelivered' else status end,
       body = case when $3 and subject is not null then null else body end,
       answer = $4, failure = $5, claim = null, updated_at = clock_timestamp(),
       due_at = least(clock_timestamp() + make_interval(secs => $6), greatest(gives_up_at, clock_timestamp()))
     where id = $1 and claim = $2`,
    [id, claim, isDelivered, answer, failure, pauseSeconds],
  )
}

export type ListedDelivery = Readonly<{
  id: string
  /** Its place in the list: later ones are greater. */
  position: string
  webhookId: string
  url: string
  type: string
  subject: string | null
  status: DeliveryStatus
  attempts: number
  answer: number | null
  failure: string | null
  dueAt: Date
  createdAt: Date
  updatedAt: Date
}>

export type WantedDeliveries = Readonly<{
  status: DeliveryStatus | undefined
  perPage: number
  /** The position of the last one of the page before. */
  after: string | undefined
}>

/** The newest first. `hasMore`: there are older ones. */
export async function listDeliveries(
  control: Control,
  { userId }: Account,
  { status, perPage, after }: WantedDeliveries,
): Promise<Readonly<{ deliveries: readonly ListedDelivery[]; hasMore: boolean }>> {
  const { rows } = await control.query<ListedDelivery>(
    `select ${listed} from cartage.webhook_deliveries d join cartage.webhooks w on w.id = d.webhook_id
     where d.user_id = $1 and ($2::text is null or d.status = $2) and d.position < coalesce($3::bigint, 9223372036854775807)
     order by d.position desc limit $4 + 1`,
    [userId, status ?? null, after ?? null, perPage],
  )
  return { deliveries: rows.slice(0, perPage), hasMore: rows.length > perPage }
}

/** Sends one again, for a day. Undefined if there is none. */
export async function redeliver(
  control: Control,
  { userId }: Account,
  id: string,
): Promise<ListedDelivery | undefined> {
  const { rows } = await control.query<ListedDelivery>(
    `update cartage.webhook_deliveries d
     set status = 'pending', due_at = clock_timestamp(), gives_up_at = clock_timestamp() + interval '24 hours', claim = null,
       attempts = 0, updated_at = clock_timestamp()
     from cartage.webhooks w where d.user_id = $1 and d.id = $2 and w.id = d.webhook_id returning ${listed}`,
    [userId, id],
  )
  return rows[0]
}

/** A message without a job. Undefined if there is no such webhook. */
export async function insertTest(
  control: Pool,
  { userId }: Account,
  webhookId: string,
): Promise<ListedDelivery | undefined> {
  return inTransaction(control, async (tx) => {
    const locked = await tx.query(
      'select from cartage.webhooks where user_id = $1 and id = $2 and job_id is null and schedule is null for no key update',
      [userId, webhookId],
    )
    if (locked.rowCount === 0) return undefined
    const { rows } = await tx.query<{ id: string }>(
      `insert into cartage.webhook_deliveries (user_id, webhook_id, type) select $1, $2, 'webhook.test'
       where (select count(*) from cartage.webhook_deliveries
         where webhook_id = $2 and subject is null and type = 'webhook.test' and status = 'pending') < $3 returning id`,
      [userId, webhookId, maxPendingTests],
    )
    if (!rows[0]) throw errors.tooManyTestMessages(maxPendingTests)
    const found = await tx.query<ListedDelivery>(
      `select ${listed} from cartage.webhook_deliveries d join cartage.webhooks w on w.id = d.webhook_id where d.id = $1`,
      [rows[0].id],
    )
    return found.rows[0]
  })
}

/** Removes some delivered messages after three days; true: there may be more. */
export const cleanDelivered = (control: Control) => cleanDeliveries(control, 'delivered', 3)

/** The same for undelivered ones, after thirty days. */
export const cleanUndelivered = (control: Control) => cleanDeliveries(control, 'undelivered', 30)

async function cleanDeliveries(
  control: Control,
  status: Exclude<DeliveryStatus, 'pending'>,
  days: number,
): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.webhook_deliveries d using (
       select id from cartage.webhook_deliveries
       where status = '${status}' and updated_at < clock_timestamp() - interval '${days} days'
       order by updated_at limit ${stepDeliveries} for update skip locked
     ) old where d.id = old.id`,
  )
  return rowCount === stepDeliveries
}

const stepDeliveries = 500

const listed = `d.id, d.position, d.webhook_id as "webhookId", w.url, d.type, d.subject, d.status, d.attempts, d.answer, d.failure,
  d.due_at as "dueAt", d.created_at as "createdAt", d.updated_at as "updatedAt"`
