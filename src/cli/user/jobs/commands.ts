import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { isPassing } from '../../../client/http/retry.ts'
import type {
  FullJobDocument,
  JobFilter,
  JobOptions,
  JobQuery,
  NewItem,
} from '../../../contract/documents.ts'
import { firstStatementOf, partsOf } from '../../../contract/job-items.ts'
import { jobStatuses } from '../../../contract/job-status.ts'
import { formatDuration } from '../../../contract/text/format.ts'
import { splitStatements } from '../../../sql-text/statements.ts'
import { type CommandResult, wrongCall } from '../../command.ts'
import { UsageError } from '../../command-error.ts'
import { readNamedFile } from '../../named-file.ts'
import { listOf, textOf } from '../../option-values.ts'
import { tell } from '../../terminal.ts'
import { fileOption, type UserCall, type UserCommand } from '../command.ts'
import { printList } from '../output/list.ts'
import { type Service, withService } from '../service.ts'
import { readTableName, tableInSql } from '../table-name.ts'
import { jobResult, runToEnd, stateOf, waitForEnd } from './follow-job.ts'
import { durationOf, sendOptions, waitOptions } from './job-options.ts'
import { cutAtWord, JobView } from './job-view.ts'

const run: UserCommand = {
  name: 'job run',
  summary: 'queue a batch job and watch it; Ctrl-C cancels it',
  arguments: [{ name: 'STATEMENT', kind: 'text', isOptional: true, isMany: true }],
  options: {
    file: fileOption('the statements'),
    into: { type: 'string', value: 'TABLE', help: 'store the rows of the query in a new table' },
    'on-success': { type: 'string', value: 'SQL', help: 'statement to run if the job succeeds' },
    'on-error': { type: 'string', value: 'SQL', help: 'statement to run if the job fails' },
    timeout: { type: 'string', value: 'TIME', help: 'limit for each statement, such as 90s, 10m or 2h' },
    name: { type: 'string', value: 'NAME', help: 'name of the job, shown in lists' },
    label: { type: 'string', value: 'LABEL', help: 'labels of the job, separated by commas' },
    ...sendOptions,
  },
  details: [
    'Several statements run one after the other. Each is committed separately; the first error ends the job.',
    'The statements of --on-success and --on-error may contain <%= job_id %> and <%= error_message %>.',
    'The id is printed on stderr when the job is accepted. If the service restarts, cartage waits for it; the job continues.',
    '',
    "  cartage job run 'create table big as select …' 'create index on big (id)' --timeout 2h",
    "  cartage job run 'select * from places where pop > 1e6' --into large_places",
    '  cartage job run -f rebuild.sql --detach',
  ],
  run: async (call) => {
    const query = jobQuery(call, await readStatements(call))
    return withService(call, (service) => submit(call, service, query))
  },
}

async function submit(
  call: UserCall,
  service: Service,
  query: JobQuery,
  beside: JobOptions = {},
): Promise<CommandResult> {
  const idempotencyKey = textOf(call.values, 'idempotency-key') ?? randomUUID()
  const [name, label] = [textOf(call.values, 'name'), textOf(call.values, 'label')]
  const addresses = listOf(call.values, 'notify')
  const tags = {
    ...(name !== undefined && { name }),
    ...(label !== undefined && { labels: label.split(',') }),
    ...(addresses.length > 0 && { notify: addresses.map((url) => ({ url })) }),
  }
  const options = { idempotencyKey, ...beside, ...tags }
  const job = await service.client.jobs.create(query, options).catch((error: unknown) => {
    if (isPassing(error)) tell(`to send it again without a second job: --idempotency-key ${idempotencyKey}`)
    throw error
  })
  return call.values.detach ? { document: job, lines: [job.job_id] } : runToEnd(call, service, job)
}

async function readStatements({ args, values }: UserCall): Promise<readonly string[]> {
  const file = textOf(values, 'file')
  if (args.length > 0 === (file !== undefined)) throw wrongCall(run, 'give statements or -f FILE')
  if (file === undefined) return args
  const content = file === '-' ? await text(process.stdin) : await readNamedFile(file)
  const statements = splitStatements(content).map((one) => one.text)
  if (statements.length === 0) throw new UsageError(`there is no statement in ${file}`)
  return statements
}

/** One item for each statement: only items have a start and an end time. */
function jobQuery({ values }: UserCall, statements: readonly string[]): JobQuery {
  const into = textOf(values, 'into')
  if (into !== undefined && statements.length > 1) throw wrongCall(run, '--into takes one statement only')
  const texts =
    into === undefined ? statements : [`create table ${tableInSql(readTableName(into))} as ${statements[0]}`]
  const timeout = durationOf(values, 'timeout')
  const [onsuccess, onerror] = [textOf(values, 'on-success'), textOf(values, 'on-error')]
  return {
    query: texts.map((query) => ({ query, ...(timeout !== undefined && { timeout }) })),
    ...(onsuccess !== undefined && { onsuccess }),
    ...(onerror !== undefined && { onerror }),
  }
}

const jobArgument = [{ name: 'JOB', kind: 'job' }] as const

const status: UserCommand = {
  name: 'job status',
  summary: 'show a job, and how far it is',
  arguments: jobArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      const job = await client.jobs.details(call.args[0]!)
      if (!call.terminal.out.isTerminal || call.values.json) return jobResult(job)
      const view = new JobView(call.terminal, job.job_id, job)
      view.end()
      return { lines: [stateOf(job, view.isLive)] }
    }),
}

const wait: UserCommand = {
  name: 'job wait',
  summary: 'watch a job until it ends; Ctrl-C does not cancel it',
  arguments: jobArgument,
  options: waitOptions,
  run: (call) => withService(call, (service) => waitForEnd(call, service, call.args[0]!)),
}

const follow: UserCommand = {
  ...wait,
  name: 'job follow',
  summary: 'the same as job wait',
  details: ['Shows a bar if PostgreSQL reports a percentage, and what a statement waits for.'],
}

const cancel: UserCommand = {
  name: 'job cancel',
  summary: 'cancel a job and wait until its statement has stopped',
  arguments: jobArgument,
  run: (call) =>
    withService(call, async ({ client }) => {
      return jobResult(await client.jobs.cancel(call.args[0]!))
    }),
}

const again: UserCommand = {
  name: 'job again',
  summary: 'queue the same job again and watch it',
  arguments: jobArgument,
  options: sendOptions,
  details: [
    'It is queued at once, and notifies only the addresses of --notify: a job does not show its own.',
  ],
  run: (call) =>
    withService(call, async (service) => {
      const job = await service.client.jobs.details(call.args[0]!)
      const { name, labels, retry } = job
      return submit(call, service, queryOf(job), { name, labels, retry })
    }),
}

/** The query of a job, without its results. */
function queryOf(job: FullJobDocument): JobQuery {
  const { items, ...fallbacks } = partsOf(job)
  const query = items.map(
    ({ query, params, onsuccess, onerror, timeout }): NewItem => ({
      query,
      ...(params && { params }),
      ...(onsuccess && { onsuccess }),
      ...(onerror && { onerror }),
      ...(timeout && { timeout }),
    }),
  )
  return { query, ...fallbacks }
}

const list: UserCommand = {
  name: 'job list',
  summary: 'list the jobs of the account, newest first',
  options: {
    status: { type: 'string', value: 'STATUS', help: `only these: ${jobStatuses.join(', ')}` },
    label: { type: 'string', value: 'LABEL', help: 'only jobs with this label' },
    text: { type: 'string', value: 'TEXT', help: 'only jobs whose SQL contains this' },
    since: { type: 'string', value: 'TIME', help: 'only jobs created since, such as 24h or 2026-01-31' },
    all: { type: 'boolean', help: 'all jobs, not only the newest 20' },
  },
  run: (call) =>
    withService(call, async ({ client }) => {
      const most = call.values.all ? Number.POSITIVE_INFINITY : 20
      const rows: JobLine[] = []
      let hasMore = false
      for await (const job of client.jobs.list({ ...filterOf(call), per_page: call.values.all ? 100 : 20 })) {
        hasMore = rows.length === most
        if (hasMore) break
        rows.push(lineOf(job))
      }
      await printList(call, rows, 'No jobs: cartage job run queues one', ['job'])
      if (hasMore) call.terminal.say('There are older jobs: add --all')
    }),
}

function filterOf({ values }: UserCall): JobFilter {
  const status = jobStatuses.find((each) => each === textOf(values, 'status'))
  if (textOf(values, 'status') !== undefined && !status)
    throw new UsageError(`--status must be one of ${jobStatuses.join(', ')}`)
  return { status, label: textOf(values, 'label'), text: textOf(values, 'text'), since: sinceOf(values) }
}

/** A time, or how long ago. */
function sinceOf(values: UserCall['values']): string | undefined {
  const since = textOf(values, 'since')
  if (since === undefined || /^\d{4}-/.test(since)) return since
  return new Date(Date.now() - durationOf(values, 'since')!).toISOString()
}

type JobLine = Readonly<{
  job: string
  status: string
  at: string
  took: string
  name: string
  statement: string
}>

function lineOf({ job_id, status, created_at, duration_ms, name = '', query }: FullJobDocument): JobLine {
  const took = duration_ms === undefined ? '' : formatDuration(duration_ms)
  return {
    job: job_id,
    status,
    at: created_at,
    took,
    name,
    statement: cutAtWord(firstStatementOf(query), 60),
  }
}

export const jobCommands: readonly UserCommand[] = [run, status, wait, follow, cancel, again, list]
