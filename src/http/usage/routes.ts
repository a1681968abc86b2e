import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Account } from '../../auth/account.ts'
import { usageCsv, usageDocument } from '../../usage/usage-document.ts'
import { readUsage } from '../../usage/usage-store.ts'
import { jobsCaller } from '../middleware/authenticate.ts'
import type { Services } from '../services.ts'
import { readWantedUsage, type WantedUsage } from './request.ts'
import { usageSchema } from './schemas.ts'

/** What the account has used. For holders of the master key. */
export async function usageRoutes(app: FastifyInstance, services: Services): Promise<void> {
  // The schema only describes; the reader reports what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  const route = { config: { rateGroup: 'tables' }, schema: usageSchema } as const
  app.get('/api/v4/usage', route, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    return sendUsage(services, account, readWantedUsage(request, ['api_key']), reply)
  })
}

/** Answers as JSON or CSV. */
export async function sendUsage(
  { databases: { control } }: Services,
  { userId, username }: Account,
  wanted: WantedUsage,
  reply: FastifyReply,
) {
  const document = usageDocument(username, wanted, await readUsage(control, userId, wanted))
  if (wanted.format === 'json') return document
  return reply
    .type('text/csv; charset=utf-8; header=present')
    .header('content-disposition', `attachment; filename="usage-${username}.csv"`)
    .send(usageCsv(document))
}
