import { hasCode } from '../../../client/cartage-error.ts'
import type { JobDocument } from '../../../contract/documents.ts'
import { Interrupted } from '../../interrupt.ts'
import type { Call } from '../command.ts'
import type { Service } from '../service.ts'
import { tell } from '../terminal.ts'
import { describeCancelled, JobView } from './job-view.ts'

/** Watches a job to its end. Ctrl-C cancels it and waits for the answer; a second one leaves it running. */
export async function runToEnd(call: Call, service: Service, job: JobDocument): Promise<number> {
  const { isOver, last } = await watch(call, service, job)
  if (isOver) return report(call, last)
  const { terminal } = call
  const { isTerminal, stream } = terminal.err
  // Listened for before the person can know of it: a signal that nobody listens for ends the process.
  const secondInterrupt = nextInterrupt()
  if (!terminal.isQuiet) stream.write(`${isTerminal ? ' ' : ''}cancelling … `)
  const cancelled = await Promise.race([cancel(service, job.job_id), secondInterrupt])
  if (!cancelled) {
    terminal.say(`left running. To cancel it: cartage job cancel ${job.job_id}`)
    return 130
  }
  const isCancelled = cancelled.status === 'cancelled'
  terminal.say(
    isCancelled
      ? `cancelled. ${describeCancelled(cancelled, last)}`
      : `it had ended before: ${cancelled.status}`,
  )
  printJob(call, cancelled)
  return 130
}

/** Watches only: Ctrl-C changes nothing about the job. */
export async function waitForEnd(call: Call, service: Service, job: JobDocument): Promise<number> {
  const { isOver, last } = await watch(call, service, job)
  if (isOver) return report(call, last)
  call.terminal.say(`stopped watching; the job goes on. To cancel it: cartage job cancel ${job.job_id}`)
  throw new Interrupted()
}

/** Until its end, or until the person interrupts it: then as it was last seen. */
async function watch({ terminal }: Call, { client, signal }: Service, job: JobDocument) {
  const view = new JobView(terminal, job)
  let last = job
  const onChange = (changed: JobDocument) => {
    last = changed
    view.update(changed)
  }
  try {
    await client.jobs.finished(job.job_id, { signal, onChange })
    return { isOver: true, last }
  } catch (error) {
    if (!signal.aborted) throw error
    return { isOver: false, last }
  } finally {
    view.end()
  }
}

/** It may have ended by itself in the meantime. */
async function cancel({ client }: Service, id: string): Promise<JobDocument> {
  return client.jobs.cancel(id).catch((error: unknown) => {
    if (hasCode(error, 'cancel-refused')) return client.jobs.read(id)
    throw error
  })
}

function nextInterrupt(): Promise<undefined> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve(undefined))
  })
}

function report(call: Call, job: JobDocument): number {
  printJob(call, job)
  const isDone = job.status === 'done'
  if (!isDone && call.terminal.out.isTerminal) {
    const reason = job.failed_reason ? `: ${job.failed_reason}` : ''
    tell(`error: the job is ${job.status}${reason}`)
  }
  return isDone ? 0 : 1
}

/** On a terminal the view has told it; elsewhere a line, or a document. */
export function printJob({ terminal: { out }, values }: Call, job: JobDocument): void {
  const reason = job.failed_reason ? `: ${job.failed_reason}` : ''
  if (values.json) out.write(`${JSON.stringify(job)}\n`)
  else if (!out.isTerminal) out.write(`${job.job_id} ${job.status}${reason}\n`)
}
