import { signal } from '@preact/signals'
import type { JobDocument } from '../../src/contract/documents.ts'
import { isFinal, type JobStatus } from '../../src/contract/job-status.ts'
import { changeKept, readKept } from './kept.ts'
import { session } from './session.ts'

/** What this browser stores of a job. `gone`: the service no longer has it. */
export type KnownJob = Readonly<{
  id: string
  createdAt: string
  status: JobStatus | 'gone' | undefined
}>

/** The jobs of this user that were started or opened in this browser, newest first: it announces their end. */
export const knownJobs = signal<readonly KnownJob[]>([])

export const isOpen = ({ status }: Pick<KnownJob, 'status'>) =>
  status === undefined || (status !== 'gone' && !isFinal(status))

const storageName = 'jobs'
const mostKnown = 1000

/** Reads the list again, with the changes of other tabs. */
export async function openKnownJobs(): Promise<void> {
  if (!session.value) return
  show((await readKept<readonly KnownJob[]>(storageName)) ?? [])
}

export const rememberJob = (job: JobDocument) =>
  change((former) => [knownOf(job), ...former.filter(({ id }) => id !== job.job_id)])

/** Updates a job, unless it was removed from the list or is known to have ended. */
export async function updateKnownJob(job: JobDocument): Promise<void> {
  await change((former) =>
    former.map((known) => (known.id === job.job_id && isOpen(known) ? knownOf(job) : known)),
  )
}

export async function markGone(id: string): Promise<void> {
  await change((former) => former.map((job) => (job.id === id ? { ...job, status: 'gone' } : job)))
}

const knownOf = (job: JobDocument): KnownJob => ({
  id: job.job_id,
  createdAt: job.created_at,
  status: job.status,
})

/** Changes the list in one transaction, so that tabs do not overwrite each other. */
async function change(by: (former: readonly KnownJob[]) => readonly KnownJob[]): Promise<void> {
  show(
    await changeKept<readonly KnownJob[]>(storageName, (former = []) =>
      [...by(former)].sort(newestFirst).slice(0, mostKnown),
    ),
  )
}

const newestFirst = (a: KnownJob, b: KnownJob) =>
  a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0

function show(jobs: readonly KnownJob[]): void {
  if (JSON.stringify(jobs) !== JSON.stringify(knownJobs.value)) knownJobs.value = jobs
}

/** The number of open jobs, for the navigation. */
export function openJobsText(): string | undefined {
  const count = knownJobs.value.filter(isOpen).length
  return count > 0 ? String(count) : undefined
}
