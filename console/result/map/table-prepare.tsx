import { isFinal } from '../../../src/contract/job-status.ts'
import { startJob, watchJob } from '../../api/jobs.ts'
import { session } from '../../api/session.ts'
import { type AboutTable, prepareSql } from '../../geo/rows-sql.ts'
import { ErrorNotice, Notice } from '../../parts/notice.tsx'
import { useWork } from '../../parts/work.ts'

/** Offers to prepare a table for maps by a job, and waits for it. */
export function PrepareNotice({ table, done }: Readonly<{ table: AboutTable; done: () => void }>) {
  const { isBusy, error, begin } = useWork()
  if (!table.isStored) return null
  const prepare = () =>
    begin(async () => {
      const started = await startJob(prepareSql(table))
      const job = await watchJob(started.job_id, new AbortController().signal, () => undefined)
      if (isFinal(job.status) && job.status !== 'done')
        throw new Error(job.failed_reason ?? `Job ${job.status}`)
      done()
    })
  return (
    <Notice
      acts={
        session.value?.isMaster && (
          <button type="button" disabled={isBusy} onClick={prepare}>
            {isBusy ? 'Preparing…' : 'Prepare for maps'}
          </button>
        )
      }
    >
      This table is not prepared for maps, so its map may load slowly.
      {error !== undefined && <ErrorNotice error={error} />}
    </Notice>
  )
}
