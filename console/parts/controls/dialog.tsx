import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Field } from './field.tsx'

/** A modal dialog, open while it is rendered. Escape and ✕ call onClose. The focus then returns to where it was. */
export function Dialog({
  title,
  onClose,
  isWide,
  children,
}: Readonly<{ title: string; onClose: () => void; isWide?: boolean; children: ComponentChildren }>) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const former = document.activeElement
    element.current?.showModal()
    return () => {
      element.current?.close()
      if (former instanceof HTMLElement && former.isConnected) former.focus()
    }
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    onClose()
  }
  return (
    <dialog ref={element} class={isWide ? 'wide' : ''} aria-labelledby={heading} onCancel={cancel}>
      <div class="dialog-head">
        <h2 class="grow" id={heading}>
          {title}
        </h2>
        <button type="button" class="quiet square" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  )
}

/** Asks before something that cannot be undone. With `typed`, the user must type that word first. */
export function Confirm({
  title,
  children,
  act,
  typed,
  onDone,
}: Readonly<{
  title: string
  children: ComponentChildren
  act: string
  typed?: string
  onDone: (isConfirmed: boolean) => void
}>) {
  const [text, setText] = useState('')
  const isReady = typed === undefined || text === typed
  return (
    <Dialog title={title} onClose={() => onDone(false)}>
      {children}
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady) onDone(true)
        }}
      >
        {typed !== undefined && (
          <Field label={`Type ${typed} to confirm`}>
            {(props) => (
              <input
                {...props}
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
                autocomplete="off"
              />
            )}
          </Field>
        )}
        <div class="dialog-acts">
          <button type="button" onClick={() => onDone(false)}>
            Cancel
          </button>
          <button type="submit" class="danger" disabled={!isReady}>
            {act}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
