import { useEffect, useRef, useState } from 'preact/hooks'

export type Rounds = Readonly<{ round: number; readAt: Date; refresh: () => void }>

/** Counts the rounds in which parts are read: one on request, and one every `seconds` while the page is visible. */
export function useRounds(seconds: number | null): Rounds {
  const [state, setState] = useState(() => ({ round: 0, readAt: new Date() }))
  const refresh = () => setState(({ round }) => ({ round: round + 1, readAt: new Date() }))
  const begunAt = useRef(0)
  begunAt.current = state.readAt.getTime()
  useEffect(() => {
    if (seconds === null) return
    const refreshIfDue = () => {
      if (document.visibilityState === 'visible' && Date.now() - begunAt.current >= seconds * 1_000) refresh()
    }
    const timer = setInterval(refreshIfDue, 1_000)
    document.addEventListener('visibilitychange', refreshIfDue)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', refreshIfDue)
    }
  }, [seconds])
  return { ...state, refresh }
}
