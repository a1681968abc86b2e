import type { FastifyInstance } from 'fastify'
import { activityDocument, stoppedDocument } from '../../activity/activity-document.ts'
import { listActivity } from '../../activity/list-activity.ts'
import { stopActivity, stopActivityOf } from '../../activity/stop-activity.ts'
import { listAudit } from '../../audit/audit-store.ts'
import { userByName } from '../../auth/account-store.ts'
import { doctor } from '../../doctor/doctor.ts'
import { errors } from '../../errors.ts'
import { readActivity } from '../../jobs/activity-store.ts'
import type { WithQuery } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { readWantedUsage } from '../usage/request.ts'
import { sendUsage } from '../usage/routes.ts'
import { userUsageSchema } from '../usage/schemas.ts'
import {
  activitySchema,
  auditSchema,
  doctorSchema,
  stopActivitySchema,
  stopUserActivitySchema,
} from './installation-schemas.ts'
import { type OneUser, readActivityFilter, readAuditFilter, readNoParameters } from './request.ts'

/** The installation as a whole: health, audit record and current activity. */
export function installationRoutes(app: FastifyInstance, services: Services): void {
  const { installation, config, databases } = services
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  const described = { validatorCompiler: () => () => true } as const

  app.get<WithQuery>('/doctor', { schema: doctorSchema }, async ({ query }) => {
    readNoParameters(query)
    return { checks: await doctor(installation, config) }
  })

  app.get<WithQuery>('/audit', { ...described, schema: auditSchema }, async ({ query }) => ({
    records: await listAudit(databases.control, readAuditFilter(query)),
  }))

  app.get<WithQuery>('/activity', { ...described, schema: activitySchema }, async ({ query }) => {
    const filter = readActivityFilter(query)
    const [jobs, listed] = await Promise.all([
      readActivity(databases.control, filter.limit),
      listActivity(databases, filter),
    ])
    return activityDocument(jobs, listed)
  })

  app.delete<WithQuery & { Params: { id: string } }>(
    '/activity/:id',
    { schema: stopActivitySchema },
    async ({ params, query }) => {
      readNoParameters(query)
      return stoppedDocument(await stopActivity(databases, params.id))
    },
  )

  app.get<OneUser>(
    '/users/:username/usage',
    { ...described, schema: userUsageSchema },
    async (request, reply) => {
      const { username } = request.params
      const wanted = readWantedUsage(request)
      const account = await userByName(databases.control, username)
      if (!account) throw errors.accountNotFound('User', username)
      return sendUsage(services, account, wanted, reply)
    },
  )

  app.delete<WithQuery & OneUser>(
    '/users/:username/activity',
    { schema: stopUserActivitySchema },
    async ({ params, query }) => {
      readNoParameters(query)
      return stoppedDocument(await stopActivityOf(databases, params.username))
    },
  )
}
