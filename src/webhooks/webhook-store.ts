import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import { lockUser } from '../auth/account-store.ts'
import { maxWebhooks, type WebhookEvent } from '../contract/webhooks.ts'
import { type Control, inTransaction, type Queryable } from '../postgres/transaction.ts'

export type Webhook = Readonly<{
  id: string
  url: string
  events: readonly WebhookEvent[]
  includeSql: boolean
  isEnabled: boolean
  createdAt: Date
}>

export type NewWebhook = Readonly<{
  url: string
  events: readonly WebhookEvent[]
  sealedSecret: Buffer | null
  includeSql: boolean
  isEnabled: boolean
}>

/** Undefined if the user has too many. */
export async function insertWebhook(
  control: Pool,
  { userId }: Account,
  { url, events, sealedSecret, includeSql, isEnabled }: NewWebhook,
): Promise<Webhook | undefined> {
  return inTransaction(control, async (tx) => {
    // One after another, so that each counts those before it.
    await lockUser(tx, userId)
    const { rows } = await tx.query<Webhook>(
      `insert into cartage.webhooks (user_id, url, events, sealed_secret, include_sql, is_enabled)
       select $1, $2, $3, $4, $5, $6
       where (select count(*) from cartage.webhooks where user_id = $1 and ${ofAccount}) < $7
       returning ${columns}`,
      [userId, url, events, sealedSecret, includeSql, isEnabled, maxWebhooks],
    )
    return rows[0]
  })
}

/** Writes whom a job tells, before the job itself is written. */
export async function insertNotices(
  control: Queryable,
  { userId }: Account,
  jobId: string,
  notices: readonly NewWebhook[],
): Promise<void> {
  for (const { url, events, sealedSecret, includeSql } of notices)
    await control.query(
      `insert into cartage.webhooks (user_id, job_id, url, events, sealed_secret, include_sql)
       values ($1, $2, $3, $4, $5, $6)`,
      [userId, jobId, url, events, sealedSecret, includeSql],
    )
}

/**
 * Writes whom a schedule tells, in this order. An address that stays keeps its secret unless another one is given. What is
 * written for an address that is no longer named is still sent.
 */
export async function putScheduleNotices(
  tx: Queryable,
  account: Account,
  schedule: string,
  notices: readonly NewWebhook[],
): Promise<void> {
  const urls = notices.map(({ url }) => url)
  await tx.query(release('url <> all ($3)'), [account.userId, schedule, urls])
  for (const { url, events, sealedSecret, includeSql } of notices) {
    const values = [account.userId, schedule, url, events, sealedSecret, includeSql]
    const { rowCount } = await tx.query(
      `update cartage.webhooks
       set events = $4, sealed_secret = coalesce($5, sealed_secret), include_sql = $6, created_at = clock_timestamp()
       where user_id = $1 and schedule = $2 and url = $3`,
      values,
    )
    if (rowCount === 0)
      await tx.query(
        `insert into cartage.webhooks (user_id, schedule, url, events, sealed_secret, include_sql)
         values ($1, $2, $3, $4, $5, $6)`,
        values,
      )
  }
}

/**
 * As of a job that is gone: `cleanJobWebhooks` deletes it after its last message, but not within an hour: the end of a job
 * may have written a message that is not committed yet.
 */
const release = (which: string) => `update cartage.webhooks
  set schedule = null, job_id = gen_random_uuid(), created_at = clock_timestamp()
  where user_id = $1 and schedule = $2 and ${which}`

/** Before a schedule is deleted: what is written for its addresses is still sent. */
export async function releaseScheduleNotices(
  tx: Queryable,
  { userId }: Account,
  schedule: string,
): Promise<void> {
  await tx.query(release('true'), [userId, schedule])
}

export async function listWebhooks(control: Control, { userId }: Account): Promise<readonly Webhook[]> {
  const { rows } = await control.query<Webhook>(
    `select ${columns} from cartage.webhooks where user_id = $1 and ${ofAccount} order by created_at, id`,
    [userId],
  )
  return rows
}

/** Undefined if there is none. A null secret stays as it was. A disabled one sends nothing that waits. */
export async function updateWebhook(
  control: Control,
  { userId }: Account,
  id: string,
  { url, events, sealedSecret, includeSql, isEnabled }: NewWebhook,
): Promise<Webhook | undefined> {
  const { rows } = await control.query<Webhook>(
    `with changed as (
       update cartage.webhooks set url = $3, events = $4, sealed_secret = coalesce($5, sealed_secret), include_sql = $6,
         is_enabled = $7
       where user_id = $1 and id = $2 and ${ofAccount} returning *
     ), stopped as (
       update cartage.webhook_deliveries d
       set status = 'undelivered', failure = 'The webhook was disabled', updated_at = clock_timestamp()
       from changed where d.webhook_id = changed.id and d.status = 'pending' and not changed.is_enabled
     )
     select ${columns} from changed`,
    [userId, id, url, events, sealedSecret, includeSql, isEnabled],
  )
  return rows[0]
}

/** Deletes the webhook with its messages, perhaps a million, in short steps. False if there is no webhook. */
export async function deleteWebhook(control: Control, { userId }: Account, id: string): Promise<boolean> {
  const which = `user_id = $1 and id = $2 and ${ofAccount}`
  // So that no more are written.
  const stopped = await control.query(`update cartage.webhooks set is_enabled = false where ${which}`, [
    userId,
    id,
  ])
  if (stopped.rowCount === 0) return false
  while (await deleteSomeMessages(control, id));
  await control.query(`delete from cartage.webhooks where ${which}`, [userId, id])
  return true
}

/** True: there may be more. */
async function deleteSomeMessages(control: Control, webhookId: string): Promise<boolean> {
  const { rowCount } = await control.query(
    `delete from cartage.webhook_deliveries d using (
       select id from cartage.webhook_deliveries where webhook_id = $1 order by position limit ${stepMessages}
     ) first where d.id = first.id`,
    [webhookId],
  )
  return rowCount === stepMessages
}

const stepMessages = 2_000

type JobWebhook = Readonly<{ userId: number; jobId: string; id: string }>

/** Looks at some addresses of jobs after `last`, and deletes those of jobs that are gone or were never made. Undefined: it was the end. */
export async function cleanJobWebhooks(
  control: Control,
  last: JobWebhook | undefined,
): Promise<JobWebhook | undefined> {
  const { rows } = await control.query<JobWebhook>(
    `with seen as materialized (
       select w.id, w.user_id, w.job_id, w.created_at from cartage.webhooks w
       where w.job_id is not null and (w.user_id, w.job_id, w.id) > ($1, $2, $3)
       order by w.user_id, w.job_id, w.id limit ${stepWebhooks}
     ), gone as (
       delete from cartage.webhooks w using seen
       where w.id = seen.id and seen.created_at < clock_timestamp() - interval '1 hour'
         and not exists (select from cartage.jobs j where j.user_id = seen.user_id and j.id = seen.job_id)
         and not exists (select from cartage.webhook_deliveries d where d.webhook_id = seen.id)
     )
     select user_id as "userId", job_id as "jobId", id from seen
     order by user_id, job_id, id offset ${stepWebhooks - 1}`,
    [last?.userId ?? 0, last?.jobId ?? firstId, last?.id ?? firstId],
  )
  return rows[0]
}

const stepWebhooks = 500
const firstId = '00000000-0000-0000-0000-000000000000'

/** Not of one job, nor of one schedule. */
const ofAccount = 'job_id is null and schedule is null'

const columns = `id, url, events, include_sql as "includeSql", is_enabled as "isEnabled", created_at as "createdAt"`
