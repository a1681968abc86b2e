import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { readSharedPage } from '../console/console-files.ts'
import { framedPolicy, originsOfStyle } from '../console/policy.ts'
import { htmlType } from '../map-page/error-response.ts'
import { MapPage } from '../map-page/map-page.ts'
import { viewedAccount } from '../maps/find-map.ts'
import { respondInForm, type Thrown } from '../middleware/error-response.ts'
import type { Services } from '../services.ts'
import type { OneDashboard } from './routes.ts'
import { dashboardPageSchema } from './schemas.ts'

/** The page of a public dashboard, for people without an account. It reads the dashboard and its rows without a key. */
export async function dashboardPageRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config } = services
  const page = new MapPage(await readSharedPage('dashboard', config), 'dashboard')
  app.setErrorHandler((error, request, reply) => respond(error as Thrown, request, reply, page))
  app.setValidatorCompiler(() => () => true)
  const options = { config: { rateGroup: 'sql', isPage: true }, schema: dashboardPageSchema } as const
  app.get<OneDashboard>('/dashboard/:dashboard', options, async (request, reply) => {
    const account = await viewedAccount(services, request)
    const { name, title, description } = await services.dashboards.open(account, request.params.dashboard)
    reply.headers(framedPolicy(originsOfStyle(config))).header('cache-control', 'no-cache')
    return reply.type(htmlType).send(page.of({ title, description }, name))
  })
}

function respond(thrown: Thrown, request: FastifyRequest, reply: FastifyReply, page: MapPage): void {
  const isSuspended = thrown instanceof AppError && thrown.code === 'account-suspended'
  const sendPage = (status: number) => {
    const text = isSuspended ? suspended : (sentences[status] ?? 'This dashboard cannot be shown now.')
    reply.headers(framedPolicy([])).header('cache-control', 'no-cache')
    reply.code(status).type(htmlType).send(page.sorry(text))
  }
  respondInForm(thrown, request, reply, () => ({}), sendPage)
}

const suspended = 'The account of this dashboard is suspended.'
const sentences: Readonly<Record<number, string>> = {
  401: 'The key in this address is not valid.',
  404: 'There is no such dashboard, or it is not public.',
  429: 'Too many people look at the dashboards of this account. Try again in a moment.',
}
