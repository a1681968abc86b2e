import type { FastifyRequest } from 'fastify'
import { isJsonObject } from '../../contract/text/json-object.ts'
import { errors } from '../../errors.ts'
import { checkCron } from '../../schedules/due-times.ts'
import { catchUps, overlaps, type ScheduleDefinition } from '../../schedules/schedule.ts'
import { readScheduledJob } from '../jobs/request.ts'
import { type Parameters, textOf, wholeOf, withoutEmpty } from '../middleware/parameters.ts'

/** Reads a schedule. `nameInPath`: of a schedule that is replaced; a name in the body must be the same. */
export function readSchedule(body: unknown, nameInPath?: string): ScheduleDefinition {
  if (!isJsonObject(body))
    throw errors.scheduleInvalid('The body must be an object with name, cron and query')
  const name = readName(body.name ?? nameInPath)
  if (nameInPath !== undefined && name !== nameInPath)
    throw errors.scheduleInvalid(`The name of a schedule cannot be changed: ${nameInPath}`)
  const rule = {
    cron: readText(body.cron, 'cron'),
    timezone: body.timezone === undefined ? 'UTC' : readText(body.timezone, 'timezone'),
  }
  checkCron(rule)
  return {
    name,
    ...rule,
    isEnabled: readFlag(body.enabled ?? true),
    overlap: readChoice(body.overlap ?? 'skip', 'overlap', overlaps),
    catchUp: readChoice(body.catch_up ?? 'none', 'catch_up', catchUps),
    job: readScheduledJob(body, name, ownMembers),
  }
}

/** Beside those of a job; what the service adds is ignored, so that a document that was read can be sent again. */
const ownMembers = [
  ...['name', 'cron', 'timezone', 'enabled', 'overlap', 'catch_up', 'notify'],
  ...['next_run_at', 'disabled_reason', 'last_job', 'last_status', 'runs_ok', 'runs_failed'],
]

function readName(value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/.test(value)) return value
  throw errors.scheduleInvalid(
    'name must have 1 to 63 letters, digits, underscores, dots or hyphens, and must not begin with a dot or hyphen',
  )
}

function readText(value: unknown, member: string): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= 255) return value.trim()
  throw errors.scheduleInvalid(`${member} must be a text of up to 255 characters`)
}

function readFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw errors.scheduleInvalid('enabled must be true or false')
}

function readChoice<T extends string>(value: unknown, member: string, choices: readonly T[]): T {
  const choice = choices.find((each) => each === value)
  if (choice !== undefined) return choice
  throw errors.scheduleInvalid(`${member} must be one of ${choices.join(', ')}`)
}

export const readScheduleName = ({ params }: FastifyRequest) => (params as { schedule: string }).schedule

export type WantedRuns = Readonly<{ before: Date | undefined; limit: number }>

export function readWantedRuns({ query }: FastifyRequest): WantedRuns {
  const parameters = withoutEmpty(query as Parameters)
  const text = textOf(parameters, 'before')
  const before = text === undefined ? undefined : new Date(text)
  if (before && Number.isNaN(before.getTime()))
    throw errors.badRequest('Invalid before: it must be a time such as 2026-01-31T10:00:00Z')
  return { before, limit: wholeOf(parameters, 'per_page', 1, mostRuns) ?? 20 }
}

export const mostRuns = 100
