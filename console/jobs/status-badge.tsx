const kinds: Readonly<Record<string, string>> = {
  done: 'good',
  failed: 'error',
  unknown: 'warning',
  cancelled: 'warning',
  running: 'info',
}
const signs: Readonly<Record<string, string>> = {
  done: '✓',
  failed: '✕',
  running: '▶',
  pending: '…',
  cancelled: '◼',
  skipped: '↷',
}

export function StatusBadge({ status }: Readonly<{ status: string | undefined }>) {
  if (status === 'gone') return <span class="muted">no longer kept by the service</span>
  if (status === undefined) return <span class="muted">not loaded yet</span>
  return (
    <span class={`badge ${kinds[status] ?? ''}`}>
      <span aria-hidden="true">{signs[status] ?? '?'}</span> {status}
    </span>
  )
}
