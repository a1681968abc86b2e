import type { UsageDocument } from '../../src/contract/documents.ts'
import { saveFile } from './browser/files.ts'
import { Load, useLoaded } from './loading.tsx'
import { ErrorNotice } from './notice.tsx'
import { UsageTable } from './usage-table.tsx'
import { useWork } from './work.ts'

type UsagePanelProps = Readonly<{
  username: string
  read: (signal: AbortSignal) => Promise<UsageDocument>
  readCsv: () => Promise<string>
}>

/** The use of a user in the last 30 days, with a button that saves it. */
export function UsagePanel({ username, read, readCsv }: UsagePanelProps) {
  const usage = useLoaded(read, [username])
  const { isBusy, error, begin } = useWork()
  const save = () =>
    begin(async () => {
      saveFile(`usage-${username}.csv`, new Blob([await readCsv()], { type: 'text/csv' }))
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
