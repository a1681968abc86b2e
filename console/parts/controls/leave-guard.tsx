import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { guardLeaving } from '../browser/route.ts'
import { Confirm } from './dialog.tsx'

/** While it is rendered: asks before another page is opened, and has the browser ask before it closes the tab. */
export function LeaveGuard({ children }: Readonly<{ children: ComponentChildren }>) {
  const [held, hold] = useState<Readonly<{ leave: () => void }> | undefined>(undefined)
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    guardLeaving((leave) => hold({ leave }))
    return () => {
      removeEventListener('beforeunload', ask)
      guardLeaving(undefined)
    }
  }, [])
  if (!held) return null
  const finish = (isConfirmed: boolean) => {
    hold(undefined)
    if (isConfirmed) held.leave()
  }
  return (
    <Confirm title="Leave without saving?" act="Leave" onDone={finish}>
      {children}
    </Confirm>
  )
}
