import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ErrorNotice } from './notice.tsx'

export type Loaded<T> = Readonly<{
  value: T | undefined
  error: unknown
  isLoading: boolean
  reload: () => void
}>

/** Loads a value, and again when `by` changes. Keeps the old value meanwhile. Aborts when the component unmounts. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, by: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const left = new AbortController()
    setState((former) => ({ ...former, error: undefined, isLoading: true }))
    load(left.signal).then(
      (value) => left.signal.aborted || setState({ value, error: undefined, isLoading: false }),
      (error: unknown) => left.signal.aborted || setState({ value: undefined, error, isLoading: false }),
    )
    return () => left.abort()
  }, [...by, round])
  const reload = useCallback(() => setRound((former) => former + 1), [])
  return { ...state, reload }
}

/** Shows a skeleton while loading, then the value; or the error with a button to try again. */
export function Load<T>({
  from,
  lines = 6,
  children,
}: Readonly<{ from: Loaded<T>; lines?: number; children: (value: T) => ComponentChildren }>) {
  if (from.value !== undefined) return <>{children(from.value)}</>
  if (from.error === undefined) return <Skeleton lines={lines} />
  return (
    <ErrorNotice
      error={from.error}
      acts={
        <button type="button" onClick={from.reload}>
          Try again
        </button>
      }
    />
  )
}

/** Empty for 150 ms, then grey lines; after 3 s also the elapsed seconds. */
export function Skeleton({ lines = 6 }: Readonly<{ lines?: number }>) {
  const [elapsedMs, setElapsedMs] = useState(0)
  useEffect(() => {
    const begin = performance.now()
    const first = setTimeout(() => setElapsedMs(150), 150)
    const later = setInterval(() => setElapsedMs(performance.now() - begin), 1000)
    return () => {
      clearTimeout(first)
      clearInterval(later)
    }
  }, [])
  if (elapsedMs < 150) return null
  return (
    <div class="skeleton" aria-busy="true">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
      {elapsedMs >= 3000 && <div class="muted small">{Math.floor(elapsedMs / 1000)} s</div>}
    </div>
  )
}
