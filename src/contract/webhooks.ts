/** Messages about the end of jobs and imports, after the convention of Standard Webhooks. */

export const webhookEvents = [
  'job.done',
  'job.failed',
  'job.cancelled',
  'job.unknown',
  'import.complete',
  'import.failure',
  'schedule.disabled',
] as const
export type WebhookEvent = (typeof webhookEvents)[number]

/** What `notify` of a job names. */
export const notifyEvents = ['done', 'failed', 'cancelled', 'unknown'] as const
export type NotifyEvent = (typeof notifyEvents)[number]

export const deliveryStatuses = ['pending', 'delivered', 'undelivered'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** Webhooks of one user, and addresses of one job. */
export const maxWebhooks = 20
export const maxNotify = 5
/** Waiting test messages of one webhook. */
export const maxPendingTests = 5
export const maxWebhookUrl = 2_048
export const maxDeliveriesPerPage = 100

export type Notify = Readonly<{
  url: string
  /** By default all. */
  on?: readonly NotifyEvent[] | undefined
  /** `whsec_` and base64. Without one the messages are not signed. */
  secret?: string | undefined
  include_sql?: boolean | undefined
}>

export type WebhookDefinition = Readonly<{
  url: string
  /** By default all. */
  on?: readonly WebhookEvent[] | undefined
  /** `whsec_` and base64 of 24 to 64 bytes. By default generated. */
  secret?: string | undefined
  include_sql?: boolean | undefined
  enabled?: boolean | undefined
}>

export type WebhookDocument = Readonly<{
  id: string
  url: string
  on: readonly WebhookEvent[]
  include_sql: boolean
  enabled: boolean
  created_at: string
}>

/** Answers show the secret only once, when it is made. */
export type NewWebhookDocument = WebhookDocument & Readonly<{ secret: string }>

export type DeliveryDocument = Readonly<{
  id: string
  webhook_id: string
  url: string
  type: string
  /** The id of the job or import; null in a test. */
  job_id: string | null
  status: DeliveryStatus
  attempts: number
  /** The status of the last answer; null: there was none. */
  response_status: number | null
  failure: string | null
  next_attempt_at: string | null
  created_at: string
  updated_at: string
}>

/** Newest first. `next` is the value of `after` for the next page. */
export type DeliveryList = Readonly<{ deliveries: readonly DeliveryDocument[]; next: string | null }>
