import { useState } from 'preact/hooks'
import type { DashboardDocument } from '../../src/contract/dashboards.ts'
import { ApiError } from '../api/api-error.ts'
import { addressOf, requestJson } from '../api/request.ts'
import { session } from '../api/session.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { Dialog } from '../parts/controls/dialog.tsx'
import { useLoaded } from '../parts/loading.tsx'
import { ErrorNotice, Notice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { defaultTexts } from '../result/shown-dashboard/filter-fields.tsx'
import { textsFor } from '../result/shown-dashboard/read-part.ts'
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

/** The queries that people without a key cannot run, and those whose tables they may not read. */
function NotPublic({ dashboard }: Readonly<{ dashboard: DashboardDocument }>) {
  const { parts, queries } = dashboard
  const names = [...new Set(parts.map(({ query }) => query))]
  const isRefused = (name: string) => !Object.hasOwn(queries, name) || !queries[name]!.public
  const refused = names.filter(isRefused)
  const tried = useLoaded(
    (signal) =>
      findUnreadable(
        dashboard,
        names.filter((name) => !isRefused(name)),
        signal,
      ),
    [dashboard],
  )
  const unreadable = tried.value ?? []
  return (
    <>
      {refused.length > 0 && (
        <Notice kind="warning">
          <p>
            People without a key see a refusal in place of the parts of <Names names={refused} />. Save{' '}
            {refused.length > 1 ? 'these queries' : 'this query'} as public on the SQL page to show the rows.
          </p>
        </Notice>
      )}
      {unreadable.length > 0 && (
        <Notice kind="warning">
          <p>
            People without a key may not read the tables of <Names names={unreadable} />. Make them public on
            the page of each table to show the rows.
          </p>
        </Notice>
      )}
    </>
  )
}

/** Runs each query as somebody without a key would. Other errors than a refusal are no matter of sharing. */
async function findUnreadable(
  { filters, queries }: DashboardDocument,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { username } = session.peek()!
  const found: string[] = []
  for (const query of names) {
    const error = await requestJson('runQueryByGet', {
      parameters: { name: username, query },
      query: { ...textsFor(queries, query, defaultTexts(filters)), rows_per_page: 1 },
      as: { kind: 'key', username, token: null },
      signal,
    }).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (error instanceof ApiError && error.sqlstate === '42501') found.push(query)
  }
  return found
}

const Names = ({ names }: Readonly<{ names: readonly string[] }>) => (
  <>
    {names.map((name, at) => (
      <span key={name}>
        {at > 0 && ', '}
        <code>{name}</code>
      </span>
    ))}
  </>
)
