import type { ComponentChildren } from 'preact'

type DialogActsProps = Readonly<{
  act: string
  isReady?: boolean
  isDanger?: boolean
  close: () => void
  children?: ComponentChildren
}>

/** The buttons below a form in a dialog. `children` stand between Cancel and the one that submits. */
export function DialogActs({ act, isReady = true, isDanger = false, close, children }: DialogActsProps) {
  return (
    <div class="dialog-acts">
      <button type="button" onClick={close}>
        Cancel
      </button>
      {children}
      <button type="submit" class={isDanger ? 'danger' : 'primary'} disabled={!isReady}>
        {act}
      </button>
    </div>
  )
}
