import type { KnownJob } from '../api/known-jobs.ts'
import { saveFile } from '../parts/save-file.ts'

/** The list of this browser as a file, for another browser. */
export const saveJobsFile = (jobs: readonly KnownJob[]) =>
  saveFile('cartage-jobs.json', JSON.stringify({ jobs }, null, 2))

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
