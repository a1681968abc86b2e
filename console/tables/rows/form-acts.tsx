type ActsProps = Readonly<{ act: string; isReady: boolean; isDanger?: boolean; close: () => void }>

/** The buttons below a form in a dialog. */
export function FormActs({ act, isReady, isDanger = false, close }: ActsProps) {
  return (
    <div class="dialog-acts">
      <button type="button" onClick={close}>
        Cancel
      </button>
      <button type="submit" class={isDanger ? 'danger' : 'primary'} disabled={!isReady}>
        {act}
      </button>
    </div>
  )
}

/** Ctrl+Enter submits a form also from a field of several lines. */
export function submitByKey(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  ;(event.currentTarget as HTMLFormElement).requestSubmit()
}
