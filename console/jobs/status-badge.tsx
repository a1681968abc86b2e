import type { JobStatus, StepStatus } from '../../src/contract/job-status.ts'

type Status = JobStatus | StepStatus

const kinds: Readonly<Partial<Record<Status, string>>> = {
  done: 'good',
  failed: 'error',
  unknown: 'warning',
  cancelled: 'warning',
  running: 'info',
}
const signs: Readonly<Partial<Record<Status, string>>> = {
  done: '✓',
  failed: '✕',
  running: '▶',
  pending: '…',
  cancelled: '◼',
  skipped: '↷',
}

export function StatusBadge({ status }: Readonly<{ status: Status }>) {
  return (
    <span class={`badge ${kinds[status] ?? ''}`}>
      <span aria-hidden="true">{signs[status] ?? '?'}</span> {status}
    </span>
  )
}
