import type { FastifyInstance } from 'fastify'
import { versionOf } from '../../dashboards/dashboard-version.ts'
import { jobsCaller, sqlCaller } from '../middleware/authenticate.ts'
import type { Services } from '../services.ts'
import { sendTagged, tagOf } from '../tiles/send-tile-json.ts'
import { dashboardDocument, dashboardSummary } from './document.ts'
import { readExpected } from './request.ts'
import {
  deleteDashboardSchema,
  listDashboardsSchema,
  readDashboardSchema,
  saveDashboardSchema,
} from './schemas.ts'

/** Saved queries on a grid. The master key manages them; a public one can be read without a key. */
export async function dashboardsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { dashboards } = services
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  app.get('/api/v4/dashboards', { ...common, schema: listDashboardsSchema }, async (request) => {
    const found = await dashboards.list(await jobsCaller(services, request))
    return { dashboards: found.map(dashboardSummary) }
  })
  const save = { ...common, schema: saveDashboardSchema }
  app.put<OneDashboard>('/api/v4/dashboards/:dashboard', save, async (request, reply) => {
    const principal = await jobsCaller(services, request)
    const expected = readExpected(request)
    const saved = await dashboards.save(principal, request.params.dashboard, request.body, expected)
    const document = dashboardDocument(saved.dashboard)
    reply.header('etag', tagOf(JSON.stringify(document), versionOf(saved.dashboard)))
    return reply.code(saved.isNew ? 201 : 200).send(document)
  })
  const read = { ...common, schema: readDashboardSchema }
  app.get<OneDashboard>('/api/v4/dashboards/:dashboard', read, async (request, reply) => {
    const principal = await sqlCaller(services, request)
    const found = await dashboards.read(principal, request.params.dashboard)
    return sendTagged(request, reply, principal, dashboardDocument(found), undefined, versionOf(found))
  })
  const remove = { ...common, schema: deleteDashboardSchema }
  app.delete<OneDashboard>('/api/v4/dashboards/:dashboard', remove, async (request, reply) => {
    const principal = await jobsCaller(services, request)
    await dashboards.delete(principal, request.params.dashboard, readExpected(request))
    return reply.code(204).send()
  })
}

export type OneDashboard = { Params: { dashboard: string } }

const common = { config: { rateGroup: 'sql' } } as const
