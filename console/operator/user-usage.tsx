import { readUserUsage, userUsageAsCsv } from '../api/operator.ts'
import { saveFile } from '../parts/browser/files.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { UsageTable } from '../parts/usage-table.tsx'
import { useWork } from '../parts/work.ts'

/** What the user has used in the last 30 days. */
export function UserUsage({ username }: Readonly<{ username: string }>) {
  const usage = useLoaded((signal) => readUserUsage(username, signal), [username])
  const { isBusy, error, begin } = useWork()
  const save = () =>
    begin(async () => {
      const text = await userUsageAsCsv(username)
      saveFile(`usage-${username}.csv`, new Blob([text], { type: 'text/csv' }))
    })
  return (
    <section class="panel stack" aria-labelledby="usage">
      <div class="row">
        <h2 id="usage" class="grow">
          Usage
        </h2>
        <button type="button" disabled={isBusy} onClick={save}>
          Download CSV
        </button>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={usage}>{({ periods }) => <UsageTable periods={periods} />}</Load>
    </section>
  )
}
