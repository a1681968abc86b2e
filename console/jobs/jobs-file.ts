import type { KnownJob } from '../api/known-jobs.ts'

/** The list of this browser as a file, for another browser. */
export function saveJobsFile(jobs: readonly KnownJob[]): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify({ jobs }, null, 2)], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'cartage-jobs.json'
  link.click()
  URL.revokeObjectURL(url)
}

/** Takes from it only what it understands. */
export async function readJobsFile(file: File): Promise<KnownJob[]> {
  const { jobs } = (await file
    .text()
    .then((text) => JSON.parse(text))
    .catch(() => ({}))) as { jobs?: unknown }
  if (!Array.isArray(jobs)) throw new Error(`${file.name} is not a list of jobs that was exported here`)
  return jobs.flatMap((job: Partial<KnownJob> | null) =>
    typeof job?.id === 'string'
      ? [
          {
            id: job.id,
            text: String(job.text ?? ''),
            createdAt: String(job.createdAt ?? ''),
            status: undefined,
          },
        ]
      : [],
  )
}
