import type { Pool } from 'pg'
import type { Account } from '../auth/account.ts'
import { maxWebhooks, type WebhookEvent } from '../contract/webhooks.ts'
import type { Queryable } from '../postgres/transaction.ts'

type Control = Pick<Pool, 'query'>

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
  control: Control,
  { userId }: Account,
  { url, events, sealedSecret, includeSql, isEnabled }: NewWebhook,
): Promise<Webhook | undefined> {
  const { rows } = await control.query<Webhook>(
    `insert into cartage.webhooks (user_id, url, events, sealed_secret, include_sql, is_enabled)
     select $1, $2, $3, $4, $5, $6
     where (select count(*) from cartage.webhooks where user_id = $1 and job_id is null) < $7
     returning ${columns}`,
    [userId, url, events, sealedSecret, includeSql, isEnabled, maxWebhooks],
  )
  return rows[0]
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

export async function listWebhooks(control: Control, { userId }: Account): Promise<readonly Webhook[]> {
  const { rows } = await control.query<Webhook>(
    `select ${columns} from cartage.webhooks where user_id = $1 and job_id is null order by created_at, id`,
    [userId],
  )
  return rows
}

/** Undefined if there is none. A null secret stays as it was. */
export async function updateWebhook(
  control: Control,
  { userId }: Account,
  id: string,
  { url, events, sealedSecret, includeSql, isEnabled }: NewWebhook,
): Promise<Webhook | undefined> {
  const { rows } = await control.query<Webhook>(
    `update cartage.webhooks set url = $3, events = $4, sealed_secret = coalesce($5, sealed_secret), include_sql = $6,
       is_enabled = $7
     where user_id = $1 and id = $2 and job_id is null returning ${columns}`,
    [userId, id, url, events, sealedSecret, includeSql, isEnabled],
  )
  return rows[0]
}

/** With what it has not delivered. False if there is none. */
export async function deleteWebhook(control: Control, { userId }: Account, id: string): Promise<boolean> {
  const { rowCount } = await control.query(
    'delete from cartage.webhooks where user_id = $1 and id = $2 and job_id is null',
    [userId, id],
  )
  return rowCount === 1
}

const columns = `id, url, events, include_sql as "includeSql", is_enabled as "isEnabled", created_at as "createdAt"`
