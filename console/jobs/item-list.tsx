import { useEffect, useState } from 'preact/hooks'
import type { JobItem } from '../../src/contract/job-items.ts'
import { serviceNow } from '../parts/browser/clock.ts'
import { formatDuration, formatTime } from '../parts/format.ts'
import { Notice } from '../parts/notice.tsx'
import { StatusBadge } from './status-badge.tsx'

/** The statements of a job in order, with their status. */
export function ItemList({ items }: Readonly<{ items: readonly JobItem[] }>) {
  return (
    <ol class="items" aria-label="Statements">
      {items.map((item, at) => (
        <li key={at} class="panel stack">
          <div class="row">
            <strong>{at + 1}</strong>
            <StatusBadge status={item.status} />
            <Times {...item} />
            {item.rows !== undefined && <span class="small">{item.rows.toLocaleString('en')} rows</span>}
            {item.timeout !== undefined && (
              <span class="muted small">· time limit {formatDuration(item.timeout)}</span>
            )}
          </div>
          <pre>{item.query}</pre>
          {item.failed_reason && <Notice kind="error">{item.failed_reason}</Notice>}
          {item.onsuccess && <Fallback name="onsuccess" text={item.onsuccess} />}
          {item.onerror && <Fallback name="onerror" text={item.onerror} />}
          {item.fallback_status && (
            <span class="row small">
              fallback <StatusBadge status={item.fallback_status} />
            </span>
          )}
          {item.fallback_failed_reason && <Notice kind="error">{item.fallback_failed_reason}</Notice>}
        </li>
      ))}
    </ol>
  )
}

export function Fallback({ name, text }: Readonly<{ name: string; text: string }>) {
  return (
    <div class="fallback">
      <span class="muted small">{name}</span>
      <pre>{text}</pre>
    </div>
  )
}

type TimesProps = Readonly<{
  started_at?: string
  ended_at?: string
}>

function Times({ started_at, ended_at }: TimesProps) {
  const now = useNow(started_at !== undefined && ended_at === undefined)
  if (!started_at) return null
  const end = ended_at ? Date.parse(ended_at) : now
  return (
    <span class="muted small">
      started {formatTime(started_at)}, {ended_at ? 'took' : 'running for'}{' '}
      <span data-testid="duration">{formatDuration(Math.max(0, end - Date.parse(started_at)))}</span>
    </span>
  )
}

function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(serviceNow())
  useEffect(() => {
    if (!isTicking) return
    const timer = setInterval(() => setNow(serviceNow()), 1000)
    return () => clearInterval(timer)
  }, [isTicking])
  return now
}
