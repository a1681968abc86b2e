import { CartageError } from '../../client/cartage-error.ts'
import type { Client } from '../../client/client.ts'
import type { JobDocument } from '../../client/documents.ts'
import type { Command, CommandResult } from '../command.ts'
import { untilInterrupted } from '../interrupt.ts'
import { talk } from '../talk.ts'
import { connection, connectionUsage, withClient } from '../with-client.ts'

const run: Command = {
  name: 'job run',
  usage: `STATEMENT ${connectionUsage}`,
  summary: 'queue a batch job and wait for its end; exit code 1 unless it is done. Ctrl-C cancels it',
  positionals: ['STATEMENT'],
  options: connection,
  run: ([statement], options) =>
    withClient(options, ({ jobs }) =>
      untilInterrupted(async (signal) => {
        const { job_id } = await jobs.create(statement!)
        talk(`job ${job_id}`)
        const ended = await jobs.finished(job_id, { signal }).catch((error: unknown) => {
          if (!signal.aborted) throw error
        })
        return ended ? describe(ended) : { ...describe(await cancelled(jobs, job_id)), exitCode: 130 }
      }),
    ),
}

const status = jobCommand('status', 'show a batch job', (jobs, id) => jobs.read(id))

const cancel = jobCommand('cancel', 'cancel a batch job; answers when its statement has ended', (jobs, id) =>
  jobs.cancel(id),
)

export const jobCommands: readonly Command[] = [run, status, cancel]

function jobCommand(
  verb: string,
  summary: string,
  act: (jobs: Client['jobs'], id: string) => Promise<JobDocument>,
): Command {
  return {
    name: `job ${verb}`,
    usage: `JOB ${connectionUsage}`,
    summary,
    positionals: ['JOB'],
    options: connection,
    run: async ([id], options) => {
      const job = await withClient(options, ({ jobs }) => act(jobs, id!))
      return { ...describe(job), exitCode: 0 }
    },
  }
}

function describe(job: JobDocument): CommandResult {
  const reason = job.failed_reason ? `: ${job.failed_reason}` : ''
  return {
    document: job,
    lines: [`${job.job_id} ${job.status}${reason}`],
    exitCode: job.status === 'done' ? 0 : 1,
  }
}

/** It may have ended by itself in the meantime. */
async function cancelled(jobs: Client['jobs'], id: string): Promise<JobDocument> {
  talk(`cancelling ${id} (Ctrl-C again leaves it running)`)
  return jobs.cancel(id).catch((error: unknown) => {
    if (error instanceof CartageError && error.status === 400) return jobs.read(id)
    throw error
  })
}
