import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { adminTarget } from '../../postgres/session-target.ts'
import type { Services } from '../services.ts'
import { liveSchema, metricsSchema, readySchema } from './schemas.ts'

/** Is the process alive; can it do its work; and its figures, for Prometheus. */
export async function healthRoutes(app: FastifyInstance, services: Services): Promise<void> {
  app.get('/health/live', { logLevel: 'warn', schema: liveSchema }, async () => ({
    status: 'ok',
  }))

  app.get('/health/ready', { logLevel: 'warn', schema: readySchema }, async (_request, reply) => {
    const checks = await readinessChecks(services)
    const isReady = services.isReady() && checks.control === 'ok'
    reply.code(isReady ? 200 : 503)
    return { status: isReady ? 'ok' : 'unavailable', ...checks }
  })

  app.get('/metrics', { logLevel: 'warn', schema: metricsSchema }, async (_request, reply) => {
    const { type, text } = await services.metrics.render()
    return reply.type(type).send(text)
  })
}

async function readinessChecks({ databases }: Services) {
  const { control, admin, hosts } = databases
  // One may be added or removed meanwhile.
  const known = hosts.all()
  const [controlVerdict, ...hostVerdicts] = await Promise.all([
    verdict(control.query('select 1')),
    ...known.map(({ id }) =>
      verdict(admin.use(adminTarget(hosts, id), (session) => session.query('select 1'))),
    ),
  ])
  return {
    control: controlVerdict,
    hosts: Object.fromEntries(known.map((host, place) => [host.name, hostVerdicts[place]])),
  }
}

/** Whoever asks has little patience: no answer in time counts as none. */
async function verdict(check: Promise<unknown>): Promise<'ok' | 'unreachable'> {
  const time = new AbortController()
  const late = sleep(patienceMs, 'unreachable' as const, { signal: time.signal, ref: false })
  const answered = check.then(
    () => 'ok' as const,
    () => 'unreachable' as const,
  )
  const outcome = await Promise.race([answered, late])
  late.catch(() => undefined)
  time.abort()
  return outcome
}

const patienceMs = 2_000
