import { useState } from 'preact/hooks'
import type { DashboardDocument } from '../../src/contract/dashboards.ts'
import { addressOf } from '../api/request.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Dialog } from '../parts/controls/dialog.tsx'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { changeDashboard } from './dashboards-api.ts'

type ShareDialogProps = Readonly<{
  dashboard: DashboardDocument
  /** The dashboard has changed. */
  changed: () => void
  close: () => void
}>

/** Makes a dashboard public or private, and shows its link. */
export function ShareDialog({ dashboard, changed, close }: ShareDialogProps) {
  const [isPublic, setPublic] = useState(dashboard.public)
  const { isBusy, error, begin } = useWork()
  const change = (wanted: boolean) =>
    begin(async () => {
      setPublic(wanted)
      try {
        await changeDashboard(dashboard.name, { public: wanted })
      } catch (error) {
        setPublic(!wanted)
        throw error
      }
    })
  const leave = () => {
    close()
    if (isPublic !== dashboard.public) changed()
  }
  const link = addressOf('openDashboardPage', { parameters: { dashboard: dashboard.name } })
  return (
    <Dialog title="Share" onClose={leave}>
      <label class="check">
        <input
          type="checkbox"
          checked={isPublic}
          disabled={isBusy}
          onChange={(event) => void change(event.currentTarget.checked)}
        />
        Public: everyone who has the link sees it, without a key
      </label>
      {error !== undefined && <ErrorNotice error={error} />}
      <NotPublic dashboard={dashboard} />
      {isPublic ? (
        <div>
          <div class="small muted">Link</div>
          <CodeBlock label="Link" text={link} />
        </div>
      ) : (
        <p class="muted">Only the Master key of this account sees it.</p>
      )}
    </Dialog>
  )
}

/** The queries that people without a key cannot run. */
function NotPublic({ dashboard: { parts, queries } }: Readonly<{ dashboard: DashboardDocument }>) {
  const names = [...new Set(parts.map(({ query }) => query))]
  const refused = names.filter((name) => !Object.hasOwn(queries, name) || !queries[name]!.public)
  if (refused.length === 0) return null
  return (
    <Notice kind="warning">
      <p>
        People without a key see a refusal in place of the parts of{' '}
        {refused.map((name, at) => (
          <span key={name}>
            {at > 0 && ', '}
            <code>{name}</code>
          </span>
        ))}
        . Save {refused.length > 1 ? 'these queries' : 'this query'} as public on the SQL page to show the
        rows.
      </p>
    </Notice>
  )
}
