import { signal } from '@preact/signals'

/** The files that were dropped last, until the upload page takes them. */
export const droppedFiles = signal<readonly File[]>([])

/**
 * Calls `dropped` for a file dropped anywhere, and `over` when a file enters or leaves the page. Returns a function
 * that stops this.
 */
export function listenForFiles(over: (isOver: boolean) => void, dropped: () => void): () => void {
  const left = new AbortController()
  const listen = (name: 'dragenter' | 'dragover' | 'dragleave' | 'drop', act: (event: DragEvent) => void) =>
    addEventListener(
      name,
      (event) => {
        if (!event.dataTransfer?.types.includes('Files')) return
        event.preventDefault()
        act(event)
      },
      { signal: left.signal },
    )
  // Each nested element fires its own enter and leave.
  let depth = 0
  listen('dragenter', () => over(++depth > 0))
  listen('dragover', () => undefined)
  listen('dragleave', () => over(--depth > 0))
  listen('drop', (event) => {
    depth = 0
    over(false)
    const files = [...event.dataTransfer!.files]
    if (files.length === 0) return
    droppedFiles.value = files
    dropped()
  })
  return () => left.abort()
}

/** Saves a text, or bytes, as a downloaded file. */
export function saveFile(name: string, content: string | Blob): void {
  const blob = typeof content === 'string' ? new Blob([content], { type: 'application/json' }) : content
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
