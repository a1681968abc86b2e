import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from './dialog.tsx'

/** A button for an act that cannot be undone: the user must type the name before it runs. */
export function ConfirmedAct({
  name,
  label,
  act,
  run,
  failed,
  children,
}: Readonly<{
  name: string
  label: string
  act: string
  run: () => Promise<void>
  failed: (error: unknown) => void
  /** Says what will be lost. */
  children: ComponentChildren
}>) {
  const [isAsking, ask] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const finish = async (isConfirmed: boolean) => {
    ask(false)
    if (!isConfirmed) return
    failed(undefined)
    setBusy(true)
    await run().catch(failed)
    setBusy(false)
  }
  return (
    <>
      <button type="button" class="danger" disabled={isBusy} onClick={() => ask(true)}>
        {label}
      </button>
      {isAsking && (
        <Confirm title={`${act}?`} act={act} typed={name} onDone={finish}>
          {children}
        </Confirm>
      )}
    </>
  )
}
