import type { NewSchedule, ScheduleDocument, ScheduleRunDocument } from '../../../contract/documents.ts'
import { firstStatementOf } from '../../../contract/job-items.ts'
import { UsageError } from '../../command-error.ts'
import { listOf, textOf } from '../../option-values.ts'
import type { UserCall, UserCommand } from '../command.ts'
import { durationOf } from '../jobs/job-options.ts'
import { cutAtWord } from '../jobs/job-view.ts'
import { printList } from '../output/list.ts'
import { withService } from '../service.ts'

const nameArgument = [{ name: 'NAME', kind: 'text' }] as const

const create: UserCommand = {
  name: 'schedule create',
  summary: 'make or replace a schedule: a job at each due time',
  arguments: [
    ...nameArgument,
    { name: 'CRON', kind: 'text' },
    { name: 'STATEMENT', kind: 'text', isMany: true },
  ],
  options: {
    timezone: {
      type: 'string',
      value: 'ZONE',
      help: 'time zone of the expression, such as Europe/Paris; default: UTC',
    },
    overlap: {
      type: 'string',
      value: 'WHAT',
      help: 'while its last job has not ended: skip (default) or queue',
    },
    'catch-up': { type: 'string', value: 'WHAT', help: 'due times that were missed: none (default) or last' },
    attempts: {
      type: 'string',
      value: 'N',
      help: 'attempts of a job after a deadlock and the like, up to 10',
    },
    timeout: { type: 'string', value: 'TIME', help: 'limit for each statement, such as 90s, 10m or 2h' },
    notify: {
      type: 'string',
      multiple: true,
      value: 'URL',
      help: 'address that gets a message when a job ends, or the schedule is disabled; may be repeated',
    },
    paused: { type: 'boolean', help: 'do not run it yet' },
  },
  details: [
    'The expression has five fields (minute, hour, day, month, weekday) or is a word such as @daily.',
    '',
    "  cartage schedule create nightly '30 2 * * *' 'refresh materialized view counts' --timezone Europe/Paris",
  ],
  run: (call) =>
    withService(call, async ({ client }) => {
      const document = await client.schedules.put(call.args[0]!, wantedOf(call))
      return {
        document,
        lines: [`${document.name}: next run ${document.next_run_at ?? 'none: it is paused'}`],
      }
    }),
}

function wantedOf({ args, values }: UserCall): NewSchedule {
  const [, cron, ...statements] = args
  const attempts = textOf(values, 'attempts')
  const addresses = listOf(values, 'notify')
  return {
    cron: cron!,
    timezone: textOf(values, 'timezone'),
    query: statements.length === 1 ? statements[0]! : statements,
    overlap: choiceOf(values, 'overlap', ['skip', 'queue'] as const),
    catch_up: choiceOf(values, 'catch-up', ['none', 'last'] as const),
    timeout: durationOf(values, 'timeout'),
    ...(attempts !== undefined && { retry: { attempts: Number(attempts) } }),
    ...(addresses.length > 0 && { notify: addresses.map((url) => ({ url })) }),
    enabled: !values.paused,
  }
}

function choiceOf<T extends string>(
  values: UserCall['values'],
  name: string,
  choices: readonly T[],
): T | undefined {
  const text = textOf(values, name)
  const choice = choices.find((each) => each === text)
  if (text !== undefined && choice === undefined)
    throw new UsageError(`--${name} must be one of ${choices.join(', ')}`)
  return choice
}

const list: UserCommand = {
  name: 'schedule list',
  summary: 'list the schedules of the account',
  run: (call) =>
    withService(call, async ({ client }) => {
      const rows = (await client.schedules.list()).map(lineOf)
      await printList(call, rows, 'No schedules: cartage schedule create makes one', ['name'])
    }),
}

function lineOf({
  name,
  cron,
  timezone,
  next_run_at,
  last_status,
  runs_ok,
  runs_failed,
  query,
}: ScheduleDocument) {
  return {
    name,
    cron,
    timezone,
    next: next_run_at ?? 'paused',
    last: last_status ?? '',
    ok: runs_ok,
    failed: runs_failed,
    statement: cutAtWord(firstStatementOf(query), 40),
  }
}

const show: UserCommand = {
  name: 'schedule show',
  summary: 'show a schedule',
  arguments: nameArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const document = await client.schedules.read(call.args[0]!)
      const lines = Object.entries(lineOf(document)).map(([name, value]) => `${name}  ${value}`)
      const { disabled_reason: reason, notify = [] } = document
      const told = notify.map(({ url }) => `notify  ${url}`)
      return { document, lines: [...lines, ...told, ...(reason ? [`disabled  ${reason}`] : [])] }
    }),
}

const runs: UserCommand = {
  name: 'schedule runs',
  summary: 'list the last due times of a schedule, with their jobs',
  arguments: nameArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const found = await client.schedules.runs(call.args[0]!)
      await printList(call, found.map(runLine), 'It was not due yet', ['job'])
    }),
}

const runLine = ({ due_at, job_id = '', status, skipped, manual }: ScheduleRunDocument) => ({
  due: due_at,
  job: job_id,
  status: skipped ? `skipped: ${skipped}` : `${status}${manual ? ' (on request)' : ''}`,
})

const run: UserCommand = {
  name: 'schedule run',
  summary: 'make a job of a schedule now',
  arguments: nameArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const document = await client.schedules.run(call.args[0]!)
      return { document, lines: [document.job_id] }
    }),
}

const switched = (name: string, summary: string, isEnabled: boolean): UserCommand => ({
  name,
  summary,
  arguments: nameArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const document = await client.schedules.setEnabled(call.args[0]!, isEnabled)
      return {
        document,
        lines: [`${document.name}: next run ${document.next_run_at ?? 'none: it is paused'}`],
      }
    }),
})

const remove: UserCommand = {
  name: 'schedule delete',
  summary: 'delete a schedule; its jobs stay',
  arguments: nameArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      await client.schedules.delete(call.args[0]!)
      return { document: { deleted: call.args[0]! }, lines: [`deleted ${call.args[0]}`] }
    }),
}

export const scheduleCommands: readonly UserCommand[] = [
  create,
  list,
  show,
  runs,
  run,
  switched('schedule pause', 'make no jobs until it is resumed', false),
  switched('schedule resume', 'make jobs again from the next due time on', true),
  remove,
]
