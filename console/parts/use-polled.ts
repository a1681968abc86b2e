import { useEffect, useState } from 'preact/hooks'

export type Polled<T> = Readonly<{ value: T | undefined; error: unknown }>

/** Polls while the tab is visible, with a pause after each answer. Keeps the last value when a read fails. */
export function usePolled<T>(read: (signal: AbortSignal) => Promise<T>, pauseMs: number): Polled<T> {
  const [state, setState] = useState<Polled<T>>({ value: undefined, error: undefined })
  const [isSeen, setSeen] = useState(isVisible)
  useEffect(() => {
    const onSight = () => setSeen(isVisible())
    document.addEventListener('visibilitychange', onSight)
    return () => document.removeEventListener('visibilitychange', onSight)
  }, [])
  useEffect(() => {
    if (!isSeen) return
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const round = async () => {
      try {
        const value = await read(left.signal)
        if (!left.signal.aborted) setState({ value, error: undefined })
      } catch (error) {
        if (!left.signal.aborted && !isAbort(error)) setState(({ value }) => ({ value, error }))
      }
      if (!left.signal.aborted) timer = setTimeout(round, pauseMs)
    }
    void round()
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [isSeen])
  return state
}

const isVisible = () => document.visibilityState === 'visible'

const isAbort = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'
