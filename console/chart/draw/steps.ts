import { useEffect, useState } from 'preact/hooks'

/** What a generator has made so far: one more in each frame, so that the page stays usable. Begins again when `by` changes. */
export function useSteps<T>(make: () => Iterator<T>, by: readonly unknown[]): readonly T[] {
  const [made, setMade] = useState<Readonly<{ by: readonly unknown[]; all: readonly T[] }>>({ by, all: [] })
  useEffect(() => {
    const steps = make()
    let all: readonly T[] = []
    let frame = 0
    const go = () => {
      const { value, done } = steps.next()
      if (done) return
      all = [...all, value]
      setMade({ by, all })
      frame = requestAnimationFrame(go)
    }
    go()
    return () => cancelAnimationFrame(frame)
  }, by)
  // The effect runs after the first drawing with the new values.
  return by.every((each, at) => each === made.by[at]) ? made.all : []
}
