import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errors } from '../../errors.ts'
import { cancelJob } from '../../jobs/cancel-job.ts'
import type { JobDefinition } from '../../jobs/job.ts'
import { findJob } from '../../jobs/job-store.ts'
import { JobWaiter } from '../../jobs/job-waiter.ts'
import { type JobQuery, parseJobQuery, parseJobUpdate } from '../../jobs/parse-job-query.ts'
import { submitJob } from '../../jobs/submit-job.ts'
import { updateJob } from '../../jobs/update-job.ts'
import { jobsCaller } from '../frame/authenticate.ts'
import { clientGone } from '../frame/client-gone.ts'
import type { Services } from '../services.ts'
import { jobDocument } from './document.ts'
import { cancelJobSchema, createJobSchema, readJobSchema, updateJobSchema } from './schemas.ts'

/** Batch SQL jobs of the account in the path, for whoever holds its master key. */
export async function jobsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { databases } = services
  const finished = new JobWaiter(databases.control)
  // Before the server waits for open requests: those that wait for a job are answered.
  app.addHook('preClose', async () => finished.stop())
  // The schemas describe; bodies and parameters are refused in the words of this API.
  app.setValidatorCompiler(() => () => true)

  app.post('/api/v2/sql/job', { schema: createJobSchema }, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const definition = accepted(parseJobQuery(request.body))
    const { job, isReplay } = await submitJob(services, account, definition, idempotencyKeyOf(request))
    if (isReplay) reply.header('Idempotency-Replayed', 'true')
    return reply.code(201).header('Location', locationOf(request, job.id)).send(jobDocument(job))
  })

  // Not even 405: a list of jobs does not exist.
  app.get('/api/v2/sql/job', { config: { isAbsent: true } }, async () => {
    throw errors.pathUnknown()
  })

  app.get('/api/v2/sql/job/:jobId', { schema: readJobSchema }, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const waitMs = waitMsOf(request)
    const id = jobIdOf(request)
    const job = await (waitMs > 0
      ? finished.wait(account, id, waitMs, clientGone(reply))
      : findJob(databases.control, account, id))
    if (!job) throw errors.jobNotFound(id)
    return jobDocument(job)
  })

  app.put('/api/v2/sql/job/:jobId', { schema: updateJobSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    const definition = accepted(parseJobUpdate(request.body))
    return jobDocument(await updateJob(databases, account, jobIdOf(request), definition))
  })

  app.delete('/api/v2/sql/job/:jobId', { schema: cancelJobSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    return jobDocument(await cancelJob(databases, account, jobIdOf(request)))
  })
}

function accepted(query: JobQuery): JobDefinition {
  if (!query.ok) throw errors.jobInvalid(query.message)
  return query.definition
}

/** What cannot be an id is an unknown one. */
function jobIdOf(request: FastifyRequest): string {
  const { jobId } = request.params as { jobId: string }
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(jobId)) throw errors.jobNotFound(jobId)
  return jobId.toLowerCase()
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw errors.badRequest('Idempotency-Key must be 1 to 255 printable ASCII characters')
}

function waitMsOf(request: FastifyRequest): number {
  const { wait } = request.query as { wait?: unknown }
  if (wait === undefined) return 0
  if (typeof wait !== 'string' || !/^\d+(\.\d+)?$/.test(wait)) {
    throw errors.badRequest('wait must be a number of seconds')
  }
  return Math.min(Number(wait), longestWaitSeconds) * 1000
}

const longestWaitSeconds = 60

function locationOf(request: FastifyRequest, id: string): string {
  return `${request.url.split('?', 1)[0]!.replace(/\/$/, '')}/${id}`
}
