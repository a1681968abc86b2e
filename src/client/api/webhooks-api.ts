import type {
  DeliveryDocument,
  DeliveryStatus,
  NewWebhookDocument,
  WebhookDefinition,
  WebhookDocument,
} from '../../contract/webhooks.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

/** Addresses that get a message at the end of jobs and imports. Needs the master key. */
export function webhooksOf(connection: Connection, name: string) {
  const one = (webhookId: string) => ({ parameters: { name, webhookId } })
  return {
    list: async () =>
      (
        await sendForJson<{ webhooks: readonly WebhookDocument[] }>(connection, 'listWebhooks', {
          parameters: { name },
        })
      ).webhooks,
    /** Only this answer has the secret. */
    create: (definition: WebhookDefinition) =>
      sendForJson<NewWebhookDocument>(connection, 'createWebhook', {
        parameters: { name },
        json: definition,
      }),
    /** Without a secret it keeps the one that it has. */
    change: (webhookId: string, definition: WebhookDefinition) =>
      sendForJson<WebhookDocument>(connection, 'changeWebhook', {
        ...one(webhookId),
        json: definition,
        isRepeatable: true,
      }),
    delete: async (webhookId: string): Promise<void> => {
      await sendForText(connection, 'deleteWebhook', one(webhookId))
    },
    /** Sends a message of the type `webhook.test`. */
    test: (webhookId: string) => sendForJson<DeliveryDocument>(connection, 'testWebhook', one(webhookId)),
    /** The newest first. */
    deliveries: async (query: Readonly<{ status?: DeliveryStatus | undefined }> = {}) =>
      (
        await sendForJson<{ deliveries: readonly DeliveryDocument[] }>(connection, 'listDeliveries', {
          parameters: { name },
          query,
        })
      ).deliveries,
    redeliver: (deliveryId: string) =>
      sendForJson<DeliveryDocument>(connection, 'redeliver', {
        parameters: { name, deliveryId },
        isRepeatable: true,
      }),
  }
}
