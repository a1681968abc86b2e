import type {
  DeliveryDocument,
  DeliveryList,
  DeliveryStatus,
  NewWebhookDocument,
  WebhookDefinition,
  WebhookDocument,
} from '../../contract/webhooks.ts'
import { type Connection, sendForText } from '../http/send.ts'
import { sendForJson } from '../http/send-checked.ts'

/** `after` is the `next` of an earlier page. */
export type DeliveryListing = Readonly<{
  status?: DeliveryStatus | undefined
  per_page?: number | undefined
  after?: string | undefined
}>

/** Addresses that get a message at the end of jobs and imports. Needs the master key. */
export function webhooksOf(connection: Connection, name: string) {
  const one = (webhookId: string) => ({ parameters: { name, webhookId } })

  /** All messages, the newest first, page by page as they are asked for. */
  async function* deliveries(listing: DeliveryListing = {}): AsyncGenerator<DeliveryDocument> {
    for (let { after } = listing; ; ) {
      const call = { parameters: { name }, query: { ...listing, after } }
      const page = await sendForJson<DeliveryList>(connection, 'listDeliveries', call)
      yield* page.deliveries
      if (page.next === null) return
      after = page.next
    }
  }

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
    deliveries,
    redeliver: (deliveryId: string) =>
      sendForJson<DeliveryDocument>(connection, 'redeliver', {
        parameters: { name, deliveryId },
        isRepeatable: true,
      }),
  }
}
