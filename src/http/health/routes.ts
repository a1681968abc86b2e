import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { ReplicationDocument } from '../../contract/documents.ts'
import type { HostVerdict } from '../../contract/health-names.ts'
import { describeConverter } from '../../convert/converter.ts'
import { type HostRole, hostRole } from '../../hosts/host-role.ts'
import { answerWithin } from '../../postgres/answer-within.ts'
import { isStandby } from '../../postgres/wire/standby.ts'
import type { Services } from '../services.ts'
import { liveSchema, metricsSchema, readySchema } from './schemas.ts'

/** Liveness, readiness, and metrics for Prometheus. */
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

async function readinessChecks({ databases, imports }: Services) {
  const { control, hosts } = databases
  // A host may be added or removed meanwhile.
  const known = hosts.all()
  const [converter, controlState, ...hostStates] = await Promise.all([
    Promise.race([imports.converter(), sleep(converterMs, undefined, { ref: false })]),
    stateOf(control.query('select 1').then(() => undefined)),
    ...known.map(({ id }) => stateOf(hostRole(databases, id))),
  ])
  const byName = <T>(tell: (state: CheckedHost) => T) =>
    Object.fromEntries(known.map(({ name }, place) => [name, tell(hostStates[place]!)]))
  return {
    control: controlState.verdict,
    hosts: byName(({ verdict }) => verdict),
    imports: converter ? describeConverter(converter) : 'looking for GDAL',
    replication: byName(({ role }) => role && replicationDocument(role)),
  }
}

type CheckedHost = Readonly<{ verdict: HostVerdict; role?: HostRole | undefined }>

/** The caller has little patience: a late answer counts as none. */
async function stateOf(answer: Promise<HostRole | undefined>): Promise<CheckedHost> {
  try {
    const role = await answerWithin(patienceMs, answer)
    return { verdict: role?.role === 'standby' ? 'standby' : 'ok', role }
  } catch (error) {
    return { verdict: isStandby(error) ? 'standby' : 'unreachable' }
  }
}

function replicationDocument({ role, replication }: HostRole): ReplicationDocument {
  if (!replication) return { role }
  const { standbys, synchronous, lagBytes, lagMs } = replication
  return { role, standbys, synchronous, lag_bytes: lagBytes, lag_ms: lagMs }
}

const patienceMs = 2_000
/** The first time, programs are started to find out. */
const converterMs = 300
