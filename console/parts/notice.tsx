import type { ComponentChildren } from 'preact'
import { CopyButton } from './controls/copy-button.tsx'

type NoticeKind = 'error' | 'warning' | 'good' | 'info'

/** A message that stays on the page. */
export function Notice({
  kind = 'info',
  children,
  acts,
}: Readonly<{ kind?: NoticeKind; children: ComponentChildren; acts?: ComponentChildren }>) {
  return (
    <div class={`notice ${kind}`} role={kind === 'error' ? 'alert' : undefined}>
      <div class="grow">{children}</div>
      {acts && <div class="row">{acts}</div>}
    </div>
  )
}

/** An error as the service reported it, with the request id to find it in the log. */
export function ErrorNotice({
  error,
  title,
  acts,
}: Readonly<{ error: unknown; title?: string; acts?: ComponentChildren }>) {
  const { message, detail, hint, context, sqlstate, requestId } = readError(error)
  return (
    <Notice kind="error" acts={acts}>
      {title && <strong>{title}</strong>}
      <p>{message}</p>
      {detail && <p class="small">{detail}</p>}
      {hint && <p class="small">Hint: {hint}</p>}
      {context && <pre class="small">{context}</pre>}
      {(sqlstate || requestId) && (
        <p class="small muted row">
          {sqlstate && <span>SQLSTATE {sqlstate}</span>}
          {requestId && <span>request {requestId}</span>}
          {requestId && <CopyButton text={requestId} label="Copy request id" />}
        </p>
      )}
    </Notice>
  )
}

type Told = Partial<Record<'detail' | 'hint' | 'context' | 'sqlstate' | 'requestId', string>>

function readError(error: unknown): Told & { message: string } {
  if (!(error instanceof Error)) return { message: String(error) }
  const { detail, hint, context, sqlstate, requestId } = error as Error & Told
  return {
    message: error.message,
    ...JSON.parse(JSON.stringify({ detail, hint, context, sqlstate, requestId })),
  }
}

/** An empty state: one sentence and what to do next. */
export function Empty({ children }: Readonly<{ children: ComponentChildren }>) {
  return <div class="empty">{children}</div>
}
