import type { FastifyInstance } from 'fastify'
import type { DeliveryList } from '../../contract/webhooks.ts'
import { errors } from '../../errors.ts'
import { insertTest, listDeliveries, redeliver } from '../../webhooks/delivery-store.ts'
import { deleteWebhook, listWebhooks } from '../../webhooks/webhook-store.ts'
import { jobsCaller } from '../middleware/authenticate.ts'
import type { Services } from '../services.ts'
import { deliveryDocument, webhookDocument } from './document.ts'
import { readDeliveryId, readWantedDeliveries, readWebhook, readWebhookId } from './request.ts'
import {
  changeWebhookSchema,
  createWebhookSchema,
  deleteWebhookSchema,
  listDeliveriesSchema,
  listWebhooksSchema,
  redeliverSchema,
  testWebhookSchema,
} from './schemas.ts'

/** Addresses that get a message at the end of jobs and imports, and these messages. For holders of the master key. */
export async function webhooksRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config, webhooks } = services
  const { control } = services.databases
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  app.get('/api/v4/webhooks', { ...reading, schema: listWebhooksSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    return { webhooks: (await listWebhooks(control, account)).map(webhookDocument) }
  })
  app.post('/api/v4/webhooks', { ...writing, schema: createWebhookSchema }, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const { webhook, secret } = await webhooks.create(account, readWebhook(config.webhooks, request.body))
    return reply
      .code(201)
      .header('cache-control', 'no-store')
      .send({ ...webhookDocument(webhook), secret })
  })
  app.put('/api/v4/webhooks/:webhookId', { ...writing, schema: changeWebhookSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    const wanted = readWebhook(config.webhooks, request.body)
    return webhookDocument(await webhooks.change(account, readWebhookId(request), wanted))
  })
  app.delete(
    '/api/v4/webhooks/:webhookId',
    { ...writing, schema: deleteWebhookSchema },
    async (request, reply) => {
      const { account } = await jobsCaller(services, request)
      if (!(await deleteWebhook(control, account, readWebhookId(request)))) throw errors.webhookNotFound()
      return reply.code(204).send()
    },
  )
  deliveries(app, services)
}

function deliveries(app: FastifyInstance, services: Services): void {
  const { control } = services.databases
  const test = { ...writing, schema: testWebhookSchema }
  app.post('/api/v4/webhooks/:webhookId/test', test, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const delivery = await insertTest(control, account, readWebhookId(request))
    if (!delivery) throw errors.webhookNotFound()
    return reply.code(202).send(deliveryDocument(delivery))
  })
  app.get('/api/v4/webhooks/deliveries', { ...reading, schema: listDeliveriesSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    const found = await listDeliveries(control, account, readWantedDeliveries(request))
    const next = found.hasMore ? found.deliveries.at(-1)!.position : null
    return { deliveries: found.deliveries.map(deliveryDocument), next } satisfies DeliveryList
  })
  const again = { ...writing, schema: redeliverSchema }
  app.post('/api/v4/webhooks/deliveries/:deliveryId', again, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const delivery = await redeliver(control, account, readDeliveryId(request))
    if (!delivery) throw errors.deliveryNotFound()
    return reply.code(202).send(deliveryDocument(delivery))
  })
}

const reading = { config: { rateGroup: 'jobs_read' } } as const
const writing = { config: { rateGroup: 'jobs' } } as const
