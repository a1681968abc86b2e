import { useEffect, useState } from 'preact/hooks'

/** What a generator has made so far: one more in each frame, so that the page stays usable. Begins again when `by` changes. */
export function useSteps<T>(make: () => Iterator<T>, by: readonly unknown[]): readonly T[] {
  const [made, setMade] = useState<readonly T[]>([])
  useEffect(() => {
    const steps = make()
    let all: readonly T[] = []
    let frame = 0
    const go = () => {
      const { value, done } = steps.next()
      if (!done) {
        all = [...all, value]
        frame = requestAnimationFrame(go)
      }
      setMade(all)
    }
    go()
    return () => cancelAnimationFrame(frame)
  }, by)
  return made
}
