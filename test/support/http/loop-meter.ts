import { closeSync, openSync, readSync } from 'node:fs'

export type LoopMeter = Readonly<{
  /** The longest CPU time in milliseconds without a turn of the loop since the last call. */
  longestHold: () => number
  stop: () => void
}>

/** Measures how long this thread is blocked, in its own CPU time: on a busy machine the clock tells nothing. */
export function startLoopMeter(): LoopMeter {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  const bytes = Buffer.alloc(64)
  const cpuMs = () => Number(bytes.toString('latin1', 0, readSync(file, bytes, 0, 64, 0)).split(' ')[0]) / 1e6
  let longest = 0
  let before = cpuMs()
  const look = () => {
    const now = cpuMs()
    longest = Math.max(longest, now - before)
    before = now
  }
  const timer = setInterval(look, 2)
  return {
    longestHold: () => {
      look()
      const held = longest
      longest = 0
      return held
    },
    stop: () => {
      clearInterval(timer)
      closeSync(file)
    },
  }
}
