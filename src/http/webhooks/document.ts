import type { DeliveryDocument, WebhookDocument } from '../../contract/webhooks.ts'
import type { ListedDelivery } from '../../webhooks/delivery-store.ts'
import type { Webhook } from '../../webhooks/webhook-store.ts'

export const webhookDocument = ({
  id,
  url,
  events,
  includeSql,
  isEnabled,
  createdAt,
}: Webhook): WebhookDocument => ({
  id,
  url,
  on: events,
  include_sql: includeSql,
  enabled: isEnabled,
  created_at: createdAt.toISOString(),
})

export const deliveryDocument = (delivery: ListedDelivery): DeliveryDocument => ({
  id: delivery.id,
  webhook_id: delivery.webhookId,
  url: delivery.url,
  type: delivery.type,
  job_id: delivery.subject,
  status: delivery.status,
  attempts: delivery.attempts,
  response_status: delivery.answer,
  failure: delivery.failure,
  next_attempt_at: delivery.status === 'pending' ? delivery.dueAt.toISOString() : null,
  created_at: delivery.createdAt.toISOString(),
  updated_at: delivery.updatedAt.toISOString(),
})
