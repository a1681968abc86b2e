import type { FastifyInstance } from 'fastify'
import { listAudit } from '../../audit/audit-store.ts'
import { doctor } from '../../doctor/doctor.ts'
import { listHosts } from '../../hosts/list-hosts.ts'
import { readActivity } from '../../jobs/activity-store.ts'
import type { Parameters } from '../middleware/parameters.ts'
import type { Services } from '../services.ts'
import { activityDocument } from './document.ts'
import { activitySchema, auditSchema, doctorSchema, hostListSchema } from './installation-schemas.ts'
import { readActivityLimit, readAuditFilter, readNoParameters } from './request.ts'

/** The installation as a whole: hosts, health, audit record and current activity. */
export function installationRoutes(app: FastifyInstance, services: Services): void {
  const { installation, config, databases } = services
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  const described = { validatorCompiler: () => () => true } as const

  app.get<Asked>('/hosts', { schema: hostListSchema }, async ({ query }) => {
    readNoParameters(query)
    return { hosts: await listHosts(installation) }
  })

  app.get<Asked>('/doctor', { schema: doctorSchema }, async ({ query }) => {
    readNoParameters(query)
    return { checks: await doctor(installation, config) }
  })

  app.get<Asked>('/audit', { ...described, schema: auditSchema }, async ({ query }) => ({
    records: await listAudit(databases.control, readAuditFilter(query)),
  }))

  app.get<Asked>('/activity', { ...described, schema: activitySchema }, async ({ query }) =>
    activityDocument(await readActivity(databases.control, readActivityLimit(query))),
  )
}

type Asked = { Querystring: Parameters }
