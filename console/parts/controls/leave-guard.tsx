import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { guardLeaving } from '../browser/route.ts'
import { Confirm } from './dialog.tsx'

/**
 * While it is rendered, asks before another page opens or the user signs out, and makes the browser ask before the tab
 * closes.
 */
export function LeaveGuard({ children }: Readonly<{ children: ComponentChildren }>) {
  const [held, hold] = useState<Readonly<{ leave: () => void }> | undefined>(undefined)
  useEffect(() => {
    addEventListener('beforeunload', askInBrowser)
    guardLeaving((leave) => hold({ leave }))
    return end
  }, [])
  if (!held) return null
  const finish = (isConfirmed: boolean) => {
    hold(undefined)
    if (!isConfirmed) return
    // Signing out reloads the page: the browser would ask too.
    end()
    held.leave()
  }
  return (
    <Confirm title="Leave without saving?" act="Leave" onDone={finish}>
      {children}
    </Confirm>
  )
}

function end(): void {
  removeEventListener('beforeunload', askInBrowser)
  guardLeaving(undefined)
}

const askInBrowser = (event: BeforeUnloadEvent) => event.preventDefault()
