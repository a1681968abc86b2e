/** Ctrl+Enter submits a form also from a field of several lines. */
export function submitByKey(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  ;(event.currentTarget as HTMLFormElement).requestSubmit()
}
