import { hasCode } from '../../../client/cartage-error.ts'
import { isPassing } from '../../../client/http/retry.ts'
import type { FullJobDocument, JobDocument } from '../../../contract/documents.ts'
import type { CommandResult } from '../../command.ts'
import { InterruptedError } from '../../command-error.ts'
import { printResult } from '../../run-program.ts'
import { tell } from '../../terminal.ts'
import type { UserCall } from '../command.ts'
import type { Service } from '../service.ts'
import { giveUpAfterMs } from './job-options.ts'
import { describeCancelled, JobView, progressText } from './job-view.ts'

/** Watches a job until it ends. Ctrl-C cancels the job and waits for that; a second Ctrl-C does not wait. */
export async function runToEnd(call: UserCall, service: Service, job: JobDocument): Promise<CommandResult> {
  const { isOver, last = job } = await watch(call, service, job.job_id, job)
  if (isOver) return report(call, last)
  const { terminal } = call
  const { isTerminal, stream } = terminal.err
  // Before the message: a second signal without a listener would end the process.
  const secondInterrupt = nextInterrupt()
  if (!terminal.isQuiet) stream.write(`${isTerminal ? ' ' : ''}cancelling … `)
  const cancelled = await Promise.race([cancel(service, job.job_id), secondInterrupt])
  if (cancelled === 'unanswered') {
    terminal.say(
      `the service does not answer: the job goes on. To cancel it: cartage job cancel ${job.job_id}`,
    )
    return { exitCode: 130 }
  }
  if (!cancelled) {
    terminal.say(`left running. To cancel it: cartage job cancel ${job.job_id}`)
    return { exitCode: 130 }
  }
  const isCancelled = cancelled.status === 'cancelled'
  terminal.say(
    isCancelled
      ? `cancelled. ${describeCancelled(cancelled, last)}`
      : `the job had ended before: ${cancelled.status}`,
  )
  printJob(call, cancelled)
  return { exitCode: 130 }
}

/** Watches a job until it ends. Ctrl-C stops watching; the job goes on. */
export async function waitForEnd(call: UserCall, service: Service, jobId: string): Promise<CommandResult> {
  const { isOver, last } = await watch(call, service, jobId)
  if (isOver) return report(call, last!)
  call.terminal.say(`stopped watching; the job goes on. To cancel it: cartage job cancel ${jobId}`)
  throw new InterruptedError()
}

/** Returns when the job ends or the person interrupts; `last` is the newest state that was read. */
async function watch(call: UserCall, { client, signal }: Service, jobId: string, job?: JobDocument) {
  const view = new JobView(call.terminal, jobId, job)
  let last = job
  let isLost = false
  const onChange = (changed: JobDocument) => {
    last = changed
    view.update(changed)
    if (isLost) view.say('the service answers again')
    isLost = false
  }
  const onLost = () => {
    isLost = true
    view.say('the service does not answer; the job goes on, and cartage waits')
  }
  try {
    const options = { signal, onLost, giveUpAfterMs: giveUpAfterMs(call) }
    for await (const changed of client.jobs.follow(jobId, options)) onChange(changed)
    return { isOver: true, last }
  } catch (error) {
    if (!signal.aborted) throw error
    return { isOver: false, last }
  } finally {
    view.end()
  }
}

/** If the job has ended before, the cancel is refused and its final state is read. */
async function cancel({ client }: Service, id: string): Promise<JobDocument | 'unanswered'> {
  return client.jobs
    .cancel(id)
    .catch((error: unknown) => {
      if (hasCode(error, 'cancel-refused')) return client.jobs.read(id)
      throw error
    })
    .catch((error: unknown) => {
      if (isPassing(error)) return 'unanswered' as const
      throw error
    })
}

function nextInterrupt(): Promise<undefined> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve(undefined))
  })
}

function report(call: UserCall, job: JobDocument): CommandResult {
  printJob(call, job)
  const isDone = job.status === 'done'
  if (!isDone && call.terminal.out.isTerminal) {
    const reason = job.failed_reason ? `: ${job.failed_reason}` : ''
    tell(`error: the job is ${job.status}${reason}`)
  }
  return { exitCode: isDone ? 0 : 1 }
}

/** Not on a terminal, where the view has shown it, unless with --json. */
function printJob(call: UserCall, job: JobDocument): void {
  if (call.values.json || !call.terminal.out.isTerminal) printResult(call, jobResult(job))
}

export const jobResult = (job: FullJobDocument): CommandResult => ({
  document: job,
  lines: [`${job.job_id} ${stateOf(job)}`],
})

/** The status, with its reason or, as a word of its own for scripts, how far it is. `isDrawn`: the view shows that already. */
export function stateOf(job: FullJobDocument, isDrawn = false): string {
  if (job.failed_reason) return `${job.status}: ${job.failed_reason}`
  const progress = isDrawn ? undefined : progressText(job)
  return progress ? `${job.status} (${progress})` : job.status
}
