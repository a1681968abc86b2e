import type { FastifyInstance } from 'fastify'
import { accountUsage } from '../../tables/account-usage.ts'
import { accountUrlOf } from '../middleware/address.ts'
import { tokenHolder } from '../middleware/authenticate.ts'
import { compressDocuments } from '../middleware/download/compress-documents.ts'
import { forbidStoring } from '../middleware/guard-answers.ts'
import type { Services } from '../services.ts'
import { meDocument } from './document.ts'
import { meSchema } from './schemas.ts'

/** At the root of the host, where the path names no account: the credential identifies the caller. */
export async function meRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config, databases } = services
  forbidStoring(app)
  compressDocuments(app)
  for (const path of ['/api/v3/me', '/api/v4/me']) {
    app.get(path, { config: { rateGroup: 'tables' }, schema: meSchema }, async (request) => {
      const holder = await tokenHolder(services, request)
      const { account } = holder
      return meDocument(
        holder,
        await accountUsage(databases, account),
        accountUrlOf(request, config, account),
        config.copyMaxBytes,
      )
    })
  }
}
