import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../auth/account.ts'
import type { JobDocument } from '../../contract/documents.ts'
import { maxJobCharacters, maxLongJobCharacters } from '../../contract/limits.ts'
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
import {
  cancelJobSchema,
  createJobSchema,
  createLongJobSchema,
  readJobSchema,
  updateJobSchema,
} from './schemas.ts'

/** Batch SQL jobs of the account in the path, for holders of its master key. */
export async function jobsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  // The schemas only describe; the readers refuse bodies and parameters, in this API's own words.
  app.setValidatorCompiler(() => () => true)

  const classic = { ...writing, bodyLimit: maxBodyBytes }
  const long = { config: { ...writing.config, isLongBody: true }, bodyLimit: maxLongBodyBytes }
  const create = creating(services, maxJobCharacters)
  const read = reading(services)
  const update = updating(services, maxJobCharacters)
  const cancel = cancelling(services)
  app.post('/api/v2/sql/job', { ...classic, schema: createJobSchema }, create)
  app.get('/api/v2/sql/job/:jobId', { ...readingConfig, schema: readJobSchema }, read)
  app.put('/api/v2/sql/job/:jobId', { ...classic, schema: updateJobSchema }, update)
  app.delete('/api/v2/sql/job/:jobId', { ...writing, schema: cancelJobSchema }, cancel)

  const createLong = creating(services, maxLongJobCharacters)
  const updateLong = updating(services, maxLongJobCharacters)
  app.post('/api/v4/jobs', { ...long, schema: createLongJobSchema }, createLong)
  app.get('/api/v4/jobs/:jobId', { ...readingConfig, schema: readJobSchema }, read)
  app.put('/api/v4/jobs/:jobId', { ...long, schema: updateJobSchema }, updateLong)
  app.delete('/api/v4/jobs/:jobId', { ...writing, schema: cancelJobSchema }, cancel)
}

type Handler<Answer> = (request: FastifyRequest, reply: FastifyReply) => Promise<Answer>

function creating(services: Services, maxCharacters: number): Handler<FastifyReply> {
  return async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const definition = readNewJob(request.body, maxCharacters)
    const { job, isReplay } = await submitJob(services, account, definition, readIdempotencyKey(request))
    if (isReplay) reply.header('Idempotency-Replayed', 'true')
    return reply
      .code(201)
      .header('Location', `${locationOf(request, services.config)}/${job.id}`)
      .send(jobDocument(job))
  }
}

function reading(services: Services): Handler<JobDocument> {
  const { databases, jobWaiter } = services
  return async (request, reply) => {
    const { account, confirm } = await jobsCaller(services, request)
    const waitMs = readWaitMs(request)
    const id = readJobId(request)
    const job = await (waitMs > 0
      ? jobWaiter.wait(account, id, waitMs, clientGone(reply))
      : findJob(databases.control, account, id))
    if (waitMs > 0) await confirm()
    if (!job || job.isImport) throw errors.jobNotFound(id)
    return jobDocument(job)
  }
}

function updating(services: Services, maxCharacters: number): Handler<JobDocument> {
  return async (request) => {
    const { account } = await jobsCaller(services, request)
    const definition = readJobUpdate(request.body, maxCharacters)
    const id = await idOfJob(services, request, account)
    return jobDocument(await updateJob(services.databases, account, id, definition))
  }
}

function cancelling(services: Services): Handler<JobDocument> {
  return async (request) => {
    const { account } = await jobsCaller(services, request)
    return jobDocument(
      await cancelJob(services.databases, account, await idOfJob(services, request, account)),
    )
  }
}

/** An import has an address of its own. */
async function idOfJob({ databases }: Services, request: FastifyRequest, account: Account): Promise<string> {
  const id = readJobId(request)
  if ((await findJob(databases.control, account, id))?.isImport) throw errors.jobNotFound(id)
  return id
}

const readingConfig = { config: { rateGroup: 'jobs_read' } } as const
const writing = { config: { rateGroup: 'jobs' } } as const
/** Several times the maximum size of a job, however it is encoded. */
const maxBodyBytes = 128 * 1024
const maxLongBodyBytes = 4 * 1024 ** 2
