import type { FastifyInstance } from 'fastify'
import { errors } from '../../errors.ts'
import { cancelJob } from '../../jobs/cancel-job.ts'
import { findJob } from '../../jobs/job-store.ts'
import { submitJob } from '../../jobs/submit-job.ts'
import { updateJob } from '../../jobs/update-job.ts'
import { locationOf } from '../middleware/address.ts'
import { jobsCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { readIdempotencyKey } from '../middleware/idempotency-key.ts'
import type { Services } from '../services.ts'
import { jobDocument } from './document.ts'
import { readJobId, readJobUpdate, readNewJob, readWaitMs } from './request.ts'
import { cancelJobSchema, createJobSchema, readJobSchema, updateJobSchema } from './schemas.ts'

/** Batch SQL jobs of the account in the path, for holders of its master key. */
export async function jobsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  const { config, databases, jobWaiter } = services
  // The schemas only describe; the readers refuse bodies and parameters, in this API's own words.
  app.setValidatorCompiler(() => () => true)

  app.post('/api/v2/sql/job', { ...writing, schema: createJobSchema }, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const definition = readNewJob(request.body)
    const { job, isReplay } = await submitJob(services, account, definition, readIdempotencyKey(request))
    if (isReplay) reply.header('Idempotency-Replayed', 'true')
    return reply
      .code(201)
      .header('Location', `${locationOf(request, config)}/${job.id}`)
      .send(jobDocument(job))
  })

  // Not even 405: a list of jobs does not exist.
  app.get('/api/v2/sql/job', { config: { isAbsent: true, rateGroup: 'jobs_read' } }, async () => {
    throw errors.pathUnknown()
  })

  app.get('/api/v2/sql/job/:jobId', { ...reading, schema: readJobSchema }, async (request, reply) => {
    const { account, confirm } = await jobsCaller(services, request)
    const waitMs = readWaitMs(request)
    const id = readJobId(request)
    const job = await (waitMs > 0
      ? jobWaiter.wait(account, id, waitMs, clientGone(reply))
      : findJob(databases.control, account, id))
    if (waitMs > 0) await confirm()
    if (!job) throw errors.jobNotFound(id)
    return jobDocument(job)
  })

  app.put('/api/v2/sql/job/:jobId', { ...writing, schema: updateJobSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    const definition = readJobUpdate(request.body)
    return jobDocument(await updateJob(databases, account, readJobId(request), definition))
  })

  app.delete('/api/v2/sql/job/:jobId', { ...writing, schema: cancelJobSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    return jobDocument(await cancelJob(databases, account, readJobId(request)))
  })
}

const reading = { config: { rateGroup: 'jobs_read' } } as const
/** Several times the maximum size of a job, however it is encoded. */
const maxBodyBytes = 128 * 1024
const writing = { config: { rateGroup: 'jobs' }, bodyLimit: maxBodyBytes } as const
