import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../auth/account.ts'
import type { FullJobDocument, JobDocument, JobList } from '../../contract/documents.ts'
import { errors } from '../../errors.ts'
import { cancelJob } from '../../jobs/cancel-job.ts'
import type { Job, JobDefinition } from '../../jobs/job.ts'
import { findJob } from '../../jobs/job-store.ts'
import { listJobs, queuePlaceOf } from '../../jobs/list-store.ts'
import { readJobProgress } from '../../jobs/progress/job-progress.ts'
import { fullJobDocument, jobDocument } from '../../jobs/shown/job-document.ts'
import { submitJob } from '../../jobs/submit-job.ts'
import { updateJob } from '../../jobs/update-job.ts'
import { locationOf } from '../middleware/address.ts'
import { jobsCaller } from '../middleware/authenticate.ts'
import { clientGone } from '../middleware/client-gone.ts'
import { readIdempotencyKey } from '../middleware/idempotency-key.ts'
import type { Services } from '../services.ts'
import { readNotify } from '../webhooks/request.ts'
import { following } from './events.ts'
import { placeText, readWantedJobs } from './list-request.ts'
import {
  readJobId,
  readJobUpdate,
  readLongJob,
  readLongJobUpdate,
  readNewJob,
  readWaitMs,
} from './request.ts'
import {
  cancelFullJobSchema,
  cancelJobSchema,
  createJobSchema,
  createLongJobSchema,
  followJobSchema,
  listJobsSchema,
  readFullJobSchema,
  readJobSchema,
  updateFullJobSchema,
  updateJobSchema,
} from './schemas.ts'

/** Batch SQL jobs of the account in the path, for holders of its master key. */
export async function jobsRoutes(app: FastifyInstance, services: Services): Promise<void> {
  // The schemas only describe; the readers refuse bodies and parameters, in this API's own words.
  app.setValidatorCompiler(() => () => true)

  const classic = { ...writing, bodyLimit: maxBodyBytes }
  const long = {
    config: { ...writing.config, isLongBody: true, keepsText: true },
    bodyLimit: maxLongBodyBytes,
  }
  const create = creating(services, readNewJob, jobDocument)
  const read = reading(services, async (_account, job) => jobDocument(job))
  const update = updating(services, readJobUpdate, jobDocument)
  const cancel = cancelling(services, jobDocument)
  app.post('/api/v2/sql/job', { ...classic, schema: createJobSchema }, create)
  app.get('/api/v2/sql/job/:jobId', { ...readingConfig, schema: readJobSchema }, read)
  app.put('/api/v2/sql/job/:jobId', { ...classic, schema: updateJobSchema }, update)
  app.delete('/api/v2/sql/job/:jobId', { ...writing, schema: cancelJobSchema }, cancel)

  const place = placing(services)
  app.get('/api/v4/jobs', { ...readingConfig, schema: listJobsSchema }, listing(services))
  app.post(
    '/api/v4/jobs',
    { ...long, schema: createLongJobSchema },
    creating(services, readLongJob, fullJobDocument),
  )
  app.get('/api/v4/jobs/:jobId', { ...readingConfig, schema: readFullJobSchema }, reading(services, place))
  app.get(
    '/api/v4/jobs/:jobId/events',
    { ...readingConfig, schema: followJobSchema, exposeHeadRoute: false },
    following(services),
  )
  app.put(
    '/api/v4/jobs/:jobId',
    { ...long, schema: updateFullJobSchema },
    updating(services, readLongJobUpdate, fullJobDocument),
  )
  app.delete(
    '/api/v4/jobs/:jobId',
    { ...writing, schema: cancelFullJobSchema },
    cancelling(services, fullJobDocument),
  )
}

type Show = (job: Job) => JobDocument

type Handler<Answer> = (request: FastifyRequest, reply: FastifyReply) => Promise<Answer>

function listing(services: Services): Handler<JobList> {
  const { control } = services.databases
  return async (request) => {
    const { account } = await jobsCaller(services, request)
    const { filter, perPage, after } = readWantedJobs(request)
    const { jobs, next } = await listJobs(control, account, filter, perPage, after)
    return { jobs: jobs.map((job) => fullJobDocument(job)), next: next ? placeText(next) : null }
  }
}

function creating(
  services: Services,
  readJob: (body: unknown) => JobDefinition,
  show: Show,
): Handler<FastifyReply> {
  return async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const definition = readJob(request.body)
    const notify = readNotify(services.config.webhooks, (request.body as { notify?: unknown }).notify)
    const { job, isReplay } = await submitJob(services, account, definition, readIdempotencyKey(request), {
      wanted: notify,
      write: (control, id) => services.webhooks.note(control, account, id, notify),
    })
    if (isReplay) reply.header('Idempotency-Replayed', 'true')
    return reply
      .code(201)
      .header('Location', `${locationOf(request, services.config)}/${job.id}`)
      .send(show(job))
  }
}

function reading(
  services: Services,
  show: (account: Account, job: Job) => Promise<JobDocument>,
): Handler<JobDocument> {
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
    return show(account, job)
  }
}

/** With the place in the queue while the job is in it, and with its progress while it runs. */
function placing({ databases, config }: Services) {
  return async (account: Account, job: Job): Promise<FullJobDocument> => {
    if (job.status === 'pending')
      return fullJobDocument(job, await queuePlaceOf(databases.control, config, account, job.id))
    if (job.status !== 'running') return fullJobDocument(job)
    return fullJobDocument(job, undefined, await readJobProgress(databases, account, job.id))
  }
}

function updating(
  services: Services,
  readUpdate: (body: unknown) => JobDefinition,
  show: Show,
): Handler<JobDocument> {
  return async (request) => {
    const { account } = await jobsCaller(services, request)
    const definition = readUpdate(request.body)
    const id = await idOfJob(services, request, account)
    return show(await updateJob(services.databases, account, id, definition))
  }
}

function cancelling(services: Services, show: Show): Handler<JobDocument> {
  return async (request) => {
    const { account } = await jobsCaller(services, request)
    return show(await cancelJob(services.databases, account, await idOfJob(services, request, account)))
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
