import { signal } from '@preact/signals'
import type { JobDocument } from '../../src/contract/documents.ts'
import { firstStatementOf } from '../../src/contract/job-items.ts'
import { isFinal, type JobStatus } from '../../src/contract/job-status.ts'
import { shorten } from '../parts/format.ts'
import { changeKept, readKept } from './kept.ts'
import { session } from './session.ts'

/** What this browser remembers of a job. `gone`: the service no longer keeps it. */
export type KnownJob = Readonly<{
  id: string
  /** The beginning of its first statement; unknown of one that was added by its id and not yet read. */
  text: string
  createdAt: string
  status: JobStatus | 'gone' | undefined
}>

/** The jobs of this user that this browser knows, the newest first. */
export const knownJobs = signal<readonly KnownJob[]>([])

export const isOpen = ({ status }: Pick<KnownJob, 'status'>) =>
  status === undefined || (status !== 'gone' && !isFinal(status))

const storageName = 'jobs'
const mostKnown = 1000

/** As it is now, also after what other tabs have done. */
export async function openKnownJobs(): Promise<void> {
  if (!session.value) return
  show((await readKept<readonly KnownJob[]>(storageName)) ?? [])
}

export const rememberJob = (job: JobDocument) => addKnownJobs([knownOf(job)])

export async function addKnownJobs(jobs: readonly KnownJob[]): Promise<void> {
  await change((former) => {
    const ids = new Set(jobs.map(({ id }) => id))
    return [...jobs, ...former.filter(({ id }) => !ids.has(id))]
  })
}

/** What was read of it, unless it was forgotten meanwhile, or has ended as another has read. */
export async function updateKnownJob(job: JobDocument): Promise<void> {
  await change((former) =>
    former.map((known) => (known.id === job.job_id && isOpen(known) ? knownOf(job) : known)),
  )
}

export async function markGone(id: string): Promise<void> {
  await change((former) => former.map((job) => (job.id === id ? { ...job, status: 'gone' } : job)))
}

export async function forgetJob(id: string): Promise<void> {
  await change((former) => former.filter((job) => job.id !== id))
}

export const knownOf = (job: JobDocument): KnownJob => ({
  id: job.job_id,
  text: shorten(firstStatementOf(job.query), 200),
  createdAt: job.created_at,
  status: job.status,
})

/** In one step with what is stored, so that two tabs lose nothing of each other. */
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

/** For the navigation. */
export function openJobsText(): string | undefined {
  const count = knownJobs.value.filter(isOpen).length
  return count > 0 ? String(count) : undefined
}
