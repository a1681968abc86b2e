import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Account } from '../../auth/account.ts'
import { limitOf } from '../../config/account-limits.ts'
import { errors } from '../../errors.ts'
import { findJob } from '../../jobs/job-store.ts'
import { fullJobDocument } from '../../jobs/shown/job-document.ts'
import type { Queryable } from '../../postgres/transaction.ts'
import { saveSchedule } from '../../schedules/manage-schedules.ts'
import { runScheduleNow } from '../../schedules/run-schedules.ts'
import type { ScheduleNotice } from '../../schedules/schedule.ts'
import {
  deleteSchedule,
  findSchedule,
  isSchedule,
  listRuns,
  listSchedules,
} from '../../schedules/schedule-store.ts'
import { releaseScheduleNotices } from '../../webhooks/webhook-store.ts'
import { jobsCaller } from '../middleware/authenticate.ts'
import type { Services } from '../services.ts'
import { readScheduleNotify } from '../webhooks/request.ts'
import { runDocument, scheduleDocument } from './document.ts'
import { readSchedule, readScheduleName, readWantedRuns } from './request.ts'
import {
  createScheduleSchema,
  deleteScheduleSchema,
  listRunsSchema,
  listSchedulesSchema,
  putScheduleSchema,
  readScheduleSchema,
  runScheduleSchema,
} from './schemas.ts'

const path = '/api/v4/schedules'

/** Jobs by the clock, for holders of the master key of the account in the path. */
export async function schedulesRoutes(app: FastifyInstance, services: Services): Promise<void> {
  // The schemas only describe; the readers refuse bodies, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  const { databases } = services
  manage(app, services)

  app.get(`${path}/:schedule/runs`, { ...reading, schema: listRunsSchema }, async (request) => {
    const { account, name } = await known(services, request)
    const wanted = readWantedRuns(request)
    const runs = await listRuns(databases.control, account, name, wanted)
    return { runs: runs.map(runDocument) }
  })

  app.post(`${path}/:schedule/run`, { ...writing, schema: runScheduleSchema }, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const id = await runScheduleNow(databases, services.config, account, readScheduleName(request))
    const job = await findJob(databases.control, account, id)
    return reply.code(201).send(fullJobDocument(job!))
  })
}

function manage(app: FastifyInstance, services: Services): void {
  const { databases, config } = services
  app.get(path, { ...reading, schema: listSchedulesSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    const schedules = await listSchedules(databases.control, account)
    return {
      schedules: schedules.map(scheduleDocument),
      limit: limitOf(config, account.setLimits, 'schedules').value,
    }
  })
  app.post(path, { ...sending, schema: createScheduleSchema }, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const wanted = readSchedule(request.body)
    const { schedule } = await saveSchedule(databases, config, account, wanted, {
      isNew: true,
      writeNotices: noting(services, request, account, wanted.name),
    })
    return reply.code(201).send(scheduleDocument(schedule))
  })
  app.get(`${path}/:schedule`, { ...reading, schema: readScheduleSchema }, async (request) => {
    const { account } = await jobsCaller(services, request)
    const name = readScheduleName(request)
    const schedule = await findSchedule(databases.control, account, name)
    if (!schedule) throw errors.scheduleNotFound(name)
    return scheduleDocument(schedule)
  })
  app.put(`${path}/:schedule`, { ...sending, schema: putScheduleSchema }, async (request, reply) => {
    const { account } = await jobsCaller(services, request)
    const wanted = readSchedule(request.body, readScheduleName(request))
    // A schedule can be paused by sending what was read, although its addresses are no longer allowed.
    const before = await findSchedule(databases.control, account, wanted.name)
    const { schedule, isMade } = await saveSchedule(databases, config, account, wanted, {
      isNew: false,
      writeNotices: noting(services, request, account, wanted.name, before?.notify),
    })
    return reply.code(isMade ? 201 : 200).send(scheduleDocument(schedule))
  })
  app.delete(`${path}/:schedule`, { ...writing, schema: deleteScheduleSchema }, async (request, reply) => {
    const { account, name } = await known(services, request)
    await deleteSchedule(databases.control, account, name, (tx) => releaseScheduleNotices(tx, account, name))
    return reply.code(204).send()
  })
}

/** Reads whom the schedule tells; the result writes it. */
function noting(
  { config, webhooks }: Services,
  { body }: FastifyRequest,
  account: Account,
  name: string,
  before: readonly ScheduleNotice[] = [],
) {
  const kept = before.map(({ url }) => url)
  const notify = readScheduleNotify(config.webhooks, body, kept)
  return (tx: Queryable) => webhooks.noteSchedule(tx, account, name, notify)
}

async function known(
  services: Services,
  request: FastifyRequest,
): Promise<Readonly<{ account: Account; name: string }>> {
  const { account } = await jobsCaller(services, request)
  const name = readScheduleName(request)
  if (!(await isSchedule(services.databases.control, account, name))) throw errors.scheduleNotFound(name)
  return { account, name }
}

const reading = { config: { rateGroup: 'jobs_read' } } as const
const writing = { config: { rateGroup: 'jobs' } } as const
const sending = {
  config: { rateGroup: 'jobs', isLongBody: true, keepsText: true },
  bodyLimit: 4 * 1024 ** 2,
} as const
