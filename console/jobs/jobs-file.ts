import type { KnownJob } from '../api/known-jobs.ts'
import { saveFile } from '../parts/browser/files.ts'

/** Saves the list as a file, for another browser. */
export const saveJobsFile = (jobs: readonly KnownJob[]) =>
  saveFile('cartage-jobs.json', JSON.stringify({ jobs }, null, 2))

/** Reads such a file. Ignores entries without an id. */
export async function readJobsFile(file: File): Promise<KnownJob[]> {
  const { jobs } = (await file
    .text()
    .then((text) => JSON.parse(text))
    .catch(() => ({}))) as { jobs?: unknown }
  if (!Array.isArray(jobs)) throw new Error(`${file.name} is not a jobs file exported here`)
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
