import { adoptStyles } from '../parts/browser/styles.ts'
import { ChangeJob, NewJob } from './compose.tsx'
import { JobList } from './job-list.tsx'
import css from './jobs.css' with { type: 'text' }
import { OneJob } from './one-job.tsx'

adoptStyles(css)

export default function JobsPage({ segments: [id, what] }: Readonly<{ segments: readonly string[] }>) {
  return (
    <div class="page">
      <div class="inside" key={`${id}\n${what}`}>
        {shown(id, what)}
      </div>
    </div>
  )
}

function shown(id: string | undefined, what: string | undefined) {
  if (id === undefined) return <JobList />
  if (id === 'new') return <NewJob />
  if (what === 'change' || what === 'copy') return <ChangeJob id={id} isCopy={what === 'copy'} />
  return <OneJob id={id} />
}
