import { useRef, useState } from 'preact/hooks'

/** Runs one action at a time, and keeps its error until the next one starts. */
export function useWork() {
  const [state, setState] = useState<Readonly<{ isBusy: boolean; error: unknown }>>(idle)
  const isBegun = useRef(false)
  const begin = async (work: () => Promise<void>) => {
    if (isBegun.current) return
    isBegun.current = true
    setState({ isBusy: true, error: undefined })
    try {
      await work()
      setState(idle)
    } catch (error) {
      setState({ isBusy: false, error })
    } finally {
      isBegun.current = false
    }
  }
  return { ...state, begin }
}

const idle = { isBusy: false, error: undefined }
